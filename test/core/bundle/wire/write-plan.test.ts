import { toJson } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { planRequest } from '../../../../functions/core/bundle/plan/plan-request.ts';
import type { Candidate, SlotCandidate } from '../../../../functions/core/bundle/search/candidates.ts';
import { validateBundle } from '../../../../functions/core/bundle/validate/validate.ts';
import { planMessage, validationMessage } from '../../../../functions/core/bundle/wire/write-plan.ts';
import { ValidationResultSchema } from '../../../../functions/gen/resourcemap/bundle/v1/bundle_pb.ts';
import { PlanResponseSchema } from '../../../../functions/gen/resourcemap/bundle/v1/plan_pb.ts';
import { bundle, descriptor, job, NOWHERE, node, pool } from '../builders.ts';

const slots = (count: number): SlotCandidate => ({
  kind: 'slots',
  place: { ...NOWHERE, acceleratorModels: ['L4'] },
  eligible: true,
  firstSlot: 3,
  count,
  freeAccelerators: 2,
  idle: true,
  accelerator: { name: 'resource-map/accelerator', count: 4 },
});

function response(asked: Partial<Parameters<typeof planRequest>[0]>, candidates: readonly Candidate[]) {
  const plan = planRequest({ services: [], bundles: [], pools: [pool()], candidates, ...asked });
  return toJson(PlanResponseSchema, planMessage(plan, 'W/"e.json"'));
}

it('writes a placement on a node of an inventory, with what the backup shares', () => {
  const asked = bundle([job('a', { requiredCapacity: 1 })], { resiliencePolicy: { sameNode: 'forbid' } });
  expect(response({ bundles: [asked] }, [node('n1')])).toEqual({
    bundles: [
      {
        bundleId: 'b',
        outcome: 'placed',
        copies: ['primary', 'backup'].map((copy) => ({
          copy,
          outcome: 'placed',
          placements: [
            {
              jobName: 'a',
              poolName: 'p',
              tierName: 'all',
              node: { clusterId: 'c', poolId: 'cp', nodeTypeId: 'nt', nodeId: 'n1' },
            },
          ],
          ...(copy === 'backup'
            ? { degraded: [{ domain: 'node', jobs: ['a'], value: 'n1', known: true, unavoidable: true }] }
            : {}),
        })),
        message:
          'Primary and backup of the job have a node; the backup is degraded: it is not apart from the primary in node.',
      },
    ],
    etag: 'W/"e.json"',
  });
});

it('writes a placement on a slot of the map, with devices and what is not known of it', () => {
  const asked = bundle([
    job('a', {
      requiredCapacity: 1,
      requiredCapabilities: [{ name: 'resource-map/accelerator', count: 2 }],
    }),
  ]);
  expect(response({ bundles: [asked] }, [slots(5)])).toMatchObject({
    bundles: [
      {
        copies: [
          {
            placements: [
              {
                node: {
                  clusterId: 'c',
                  poolId: 'cp',
                  nodeTypeId: 'nt',
                  slot: { number: 3, freeAccelerators: 2 },
                },
                gpuIndexes: [2, 3],
                unverified: ['capacity'],
              },
            ],
          },
        ],
      },
    ],
  });
});

it('writes why a job has no node, what would hold it, and counts up to what a uint32 holds', () => {
  const instanceTypes = Array.from({ length: 20 }, (_, i) => ({
    instanceType: `i${i}`,
    profile: { totalCapacity: 100, totalCores: 64 },
  }));
  const pools = [pool({ tiers: [{ cluster: {} }, { tierName: 'bought', elastic: { instanceTypes } }] })];
  const asked = bundle([job('a', { requiredCores: 9 })]);
  const candidates = [{ ...slots(2 ** 33), totalCores: 8 }];
  const { bundles } = response({ bundles: [asked], pools }, candidates) as {
    bundles: { copies: { unplaced: { wouldFit: object[]; counts: object[] }[] }[] }[];
  };
  const [unplaced] = bundles[0]?.copies[0]?.unplaced ?? [];
  expect(unplaced).toMatchObject({ jobName: 'a', filter: 'cores' });
  expect(unplaced?.counts[0]).toEqual({ filter: 'pool', left: 4294967295 });
  expect(unplaced?.wouldFit.length).toBe(16);
  expect(unplaced?.wouldFit[0]).toEqual({ tier: 1, tierName: 'bought', instanceType: 'i0' });
});

it('writes invalid, skipped and undecided bundles', () => {
  const hard = bundle(
    Array.from({ length: 12 }, (_, i) => job(`j${i}`, { requiredCapacity: 6 + i / 100 })),
    { bundleId: 'hard' },
  );
  const plan = planRequest(
    {
      services: [],
      bundles: [bundle([], { pool: 'q' }), bundle([], { state: 'deleting' }), hard],
      pools: [pool()],
      candidates: Array.from({ length: 11 }, (_, i) => node(`n${i}`, { totalCapacity: 10 + i / 100 })),
    },
    { maxSteps: 3 },
  );
  expect(toJson(PlanResponseSchema, planMessage(plan, ''))).toMatchObject({
    bundles: [
      { outcome: 'invalid', findings: [{ code: 'unknownPoolName' }] },
      { outcome: 'skipped', message: 'The bundle is being deleted; nothing of it is placed.' },
      {
        outcome: 'undecided',
        copies: [{ outcome: 'undecided', unplaced: hard.jobs.map(() => ({ filter: 'work' })) }],
      },
    ],
  });
});

it('writes node services', () => {
  const services = [
    { serviceId: 'eager', pools: ['p', 'q'], lifecycle: 'eager' },
    { serviceId: 'lazy', pools: ['p'], lifecycle: 'lazy' },
  ] as const;
  expect(response({ services }, [slots(5), node('n', { reachable: false })])).toEqual({
    services: [
      {
        serviceId: 'eager',
        outcome: 'planned',
        placements: [
          {
            poolName: 'p',
            tierName: 'all',
            node: {
              clusterId: 'c',
              poolId: 'cp',
              nodeTypeId: 'nt',
              slot: { number: 3, freeAccelerators: 2 },
            },
            nodes: 5,
          },
        ],
        counts: [
          { filter: 'pool', left: 6 },
          { filter: 'eligible', left: 6 },
          { filter: 'reachable', left: 5 },
          { filter: 'cordoned', left: 5 },
          { filter: 'capabilities', left: 5 },
          { filter: 'gpu', left: 5 },
          { filter: 'demand', left: 5 },
        ],
        unknownPools: ['q'],
      },
      { serviceId: 'lazy', outcome: 'deferred' },
    ],
    etag: 'W/"e.json"',
  });
});

it('writes what validation found, each in its list', () => {
  const found = validateBundle(
    bundle([job('a', { requiredCapacity: 20, requiredCores: -1 }, { coLocateWith: ['a'] })]),
    [descriptor([{ totalCapacity: 10 }], { kind: 'cluster' })],
  );
  expect(toJson(ValidationResultSchema, validationMessage(found, 'e'))).toEqual({
    errors: found.errors,
    warnings: found.warnings,
    advice: found.advice,
    etag: 'e',
  });
  expect([found.errors, found.warnings, found.advice].map((list) => list.length)).toEqual([1, 1, 1]);
});
