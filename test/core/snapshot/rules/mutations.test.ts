import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RULE_BOOK } from '../../../../functions/core/snapshot/rules/book.ts';
import { checkSnapshot } from '../../../../functions/core/snapshot/rules/index.ts';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
  WorkloadPhase,
} from '../../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { arbitrarySnapshot } from '../arbitrary-snapshot.ts';
import { allocation, chain, NOW_MS, nodeType, pool, rank, requirement, reservation } from '../builders.ts';
import { type Mutation, type Pick, REJECTED } from './mutations.ts';

/** Not of one snapshot alone, or of its URL; tests of their own cover them. */
const NOT_OF_A_SNAPSHOT = ['cluster_id_mismatch', 'counter_jump'];

/** A valid snapshot in which every mutation finds something to strike at, here or in what is random. */
const richSnapshot = arbitrarySnapshot().map((snapshot) => {
  const rich = everything();
  snapshot.capacityPools.push(...rich.capacityPools);
  snapshot.jobs.push(...rich.jobs);
  snapshot.apiResources.push(...rich.apiResources);
  snapshot.installedComponents.push(...rich.installedComponents);
  snapshot.topology ??= rich.topology;
  if (snapshot.topology !== rich.topology) {
    snapshot.topology?.fabrics.push(...(rich.topology?.fabrics ?? []));
    snapshot.topology?.links.push(...(rich.topology?.links ?? []));
  }
  return snapshot;
});

/** At least one of everything, under ids that the generator does not make. */
function everything(): ClusterResourceMap {
  const ids = { jobId: 'rich job', rankId: 'rich rank' };
  const spanning = { jobId: 'rich job', rankId: 'spanning rank' };
  const running = (podIndex: number) => ({ podIndex, status: { phase: WorkloadPhase.RUNNING } });
  const onT = requirement({ poolId: 'rich pool' });
  const onU = requirement({ poolId: 'rich pool', nodeTypeId: 'u' });
  return create(ClusterResourceMapSchema, {
    capacityPools: [
      pool({
        id: 'rich pool',
        nodeTypes: [
          nodeType({
            totalCount: 4,
            inUse: [{ allocations: [allocation(ids), allocation({ ...ids, podIndex: 1 })] }],
            reservedForAutoscaling: [reservation(spanning)],
          }),
          nodeType({ id: 'u', reservedForAutoscaling: [reservation(spanning)] }),
        ],
      }),
    ],
    jobs: [
      {
        jobId: 'rich job',
        workloadKind: 1,
        ranks: [
          rank({
            rankId: 'rich rank',
            podRequirements: [onT, onT],
            chains: [chain({ pods: [running(0), running(1)] })],
          }),
          rank({ rankId: 'spanning rank', podRequirements: [onT, onU] }),
        ],
      },
    ],
    topology: {
      fabrics: [{ id: 'rich fabric' }, { id: 'other fabric' }],
      links: [{ fromFabricId: 'rich fabric', toFabricId: 'other fabric' }],
    },
    apiResources: [{ group: 'rich group', kind: 'Kind', servedVersions: ['v1'] }],
    installedComponents: [{ name: 'rich component', version: '1' }],
  });
}

/** Applies the mutation, with choices that the numbers make. */
function mutate(snapshot: ClusterResourceMap, mutation: Mutation, choices: readonly number[]): void {
  let next = 0;
  const pick: Pick = (values) => {
    const value = values[(choices[next++ % choices.length] ?? 0) % values.length];
    if (value === undefined) throw new Error('There is nothing that the mutation could strike at.');
    return value;
  };
  mutation(snapshot, pick);
}

it('there is a mutation for every rule that refuses', () => {
  const rejects = RULE_BOOK.flatMap((section) => section.rules).filter((rule) => rule.severity === 'reject');
  const expected = rejects.map((rule) => rule.code).filter((code) => !NOT_OF_A_SNAPSHOT.includes(code));
  expect(Object.keys(REJECTED).sort()).toEqual(expected.sort());
});

it('the rich snapshot is valid', () => {
  fc.assert(
    fc.property(richSnapshot, (snapshot) => {
      const { findings } = checkSnapshot(snapshot, { nowMs: NOW_MS });
      expect(findings.filter((f) => f.severity === 'reject')).toEqual([]);
    }),
    { numRuns: 50 },
  );
});

const cases = Object.entries(REJECTED).flatMap(([code, mutations]) =>
  mutations.map((mutation, i) => ({ code, way: i + 1, mutation })),
);

describe('one change is refused with exactly its code', () => {
  it.each(cases)('$code, way $way', ({ code, mutation }) => {
    fc.assert(
      fc.property(richSnapshot, fc.array(fc.nat(), { minLength: 1, maxLength: 8 }), (snapshot, choices) => {
        mutate(snapshot, mutation, choices);
        const { findings, rejects } = checkSnapshot(snapshot, { nowMs: NOW_MS });
        expect([...new Set(findings.filter((f) => f.severity === 'reject').map((f) => f.code))]).toEqual([
          code,
        ]);
        expect(rejects).toBeGreaterThan(0);
      }),
      { numRuns: 40 },
    );
  });
});
