import fc from 'fast-check';
import { expect, it } from 'vitest';
import { idFault, isValidId } from '../../../../functions/core/snapshot/rules/ids.ts';
import { checkSnapshot } from '../../../../functions/core/snapshot/rules/index.ts';
import { NOW_MS, snapshotOf } from '../builders.ts';

it.each([
  ['', 'is empty; an id has 1 to 253 bytes'],
  ['a\nb', 'is "a\\nb", with the control character U+000A at position 1; an id has none'],
  ['\u0000', 'is "\\u0000", with the control character U+0000 at position 0; an id has none'],
  ['\u001f', 'is "\\u001f", with the control character U+001F at position 0; an id has none'],
  ['\u007f', 'is "\\u007f", with the control character U+007F at position 0; an id has none'],
  ['é\u009f', 'is "é\\u009f", with the control character U+009F at position 1; an id has none'],
  ['\ud800', 'is "\\ud800", with the unpaired surrogate U+D800 at position 0; an id is well-formed Unicode'],
  [
    '\udc00\ud800',
    'is "\\udc00\\ud800", with the unpaired surrogate U+DC00 at position 0; an id is well-formed Unicode',
  ],
  ['x'.repeat(254), `is "${'x'.repeat(128)}"… (254 characters), 254 bytes of UTF-8; an id has at most 253`],
  ['é'.repeat(127), `is "${'é'.repeat(127)}", 254 bytes of UTF-8; an id has at most 253`],
  ['\u{1f9ea}'.repeat(64), `is "${'\u{1f9ea}'.repeat(64)}", 256 bytes of UTF-8; an id has at most 253`],
  ['€'.repeat(85), `is "${'€'.repeat(85)}", 255 bytes of UTF-8; an id has at most 253`],
])('refuses %j as an id', (id, fault) => {
  expect(idFault(id)).toBe(fault);
  expect(isValidId(id)).toBe(false);
});

it.each([
  'a',
  ' ',
  '~',
  '\u00a0',
  '.',
  '..',
  '__proto__',
  'a/b',
  '€'.repeat(84),
  'é'.repeat(126),
  'x'.repeat(253),
])('takes %j as an id', (id) => {
  expect(idFault(id)).toBeUndefined();
  expect(isValidId(id)).toBe(true);
});

it('takes exactly the strings of 1 to 253 bytes of UTF-8 without control characters', () => {
  const anyString = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.string({ unit: 'grapheme', maxLength: 300 }),
    fc
      .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 100 })
      .map((units) => String.fromCharCode(...units)),
    fc.string({ unit: 'grapheme-ascii', minLength: 240, maxLength: 260 }),
  );
  fc.assert(
    fc.property(anyString, (id) => {
      const bytes = Buffer.from(id, 'utf8');
      const expected =
        id !== '' && bytes.length <= 253 && bytes.toString('utf8') === id && !/\p{Cc}/u.test(id);
      expect(isValidId(id)).toBe(expected);
      expect(idFault(id) === undefined).toBe(expected);
    }),
    { numRuns: 2_000 },
  );
});

it('asks every id of a snapshot, definitions and references alike', () => {
  const bad = '\t';
  const { findings } = checkSnapshot(
    snapshotOf({
      cluster: { clusterId: bad },
      capacityPools: [
        {
          id: bad,
          nodeTypes: [
            {
              id: bad,
              fabricId: bad,
              eligibleForTandemn: true,
              acceleratorsPerNode: 1,
              totalCount: 1,
              inUse: [{ allocations: [{ jobId: bad, rankId: bad, chainId: bad, acceleratorCount: 1 }] }],
              reservedForAutoscaling: [{ jobId: bad, rankId: bad, additionalChains: 1 }],
            },
          ],
        },
      ],
      jobs: [
        {
          jobId: bad,
          ranks: [
            {
              rankId: bad,
              podRequirements: [{ poolId: bad, nodeTypeId: bad, acceleratorCount: 1 }],
              chains: [{ chainId: bad, pods: [{}] }],
            },
          ],
        },
      ],
      topology: { fabrics: [{ id: bad }], links: [{ fromFabricId: bad, toFabricId: bad }] },
    }),
    { nowMs: NOW_MS },
  );
  const invalid = findings.filter((f) => f.code === 'invalid_id');
  expect(invalid.map((f) => f.path)).toEqual([
    'cluster.cluster_id',
    'capacity_pools[0].id',
    'capacity_pools[0].node_types[0].id',
    'capacity_pools[0].node_types[0].fabric_id',
    'capacity_pools[0].node_types[0].in_use[0].allocations[0].job_id',
    'capacity_pools[0].node_types[0].in_use[0].allocations[0].rank_id',
    'capacity_pools[0].node_types[0].in_use[0].allocations[0].chain_id',
    'capacity_pools[0].node_types[0].reserved_for_autoscaling[0].job_id',
    'capacity_pools[0].node_types[0].reserved_for_autoscaling[0].rank_id',
    'jobs[0].job_id',
    'jobs[0].ranks[0].rank_id',
    'jobs[0].ranks[0].pod_requirements[0].pool_id',
    'jobs[0].ranks[0].pod_requirements[0].node_type_id',
    'jobs[0].ranks[0].chains[0].chain_id',
    'topology.fabrics[0].id',
    'topology.links[0].from_fabric_id',
    'topology.links[0].to_fabric_id',
  ]);
  expect(invalid[1]?.message).toBe(
    'id is "\\t", with the control character U+0009 at position 0; an id has none',
  );
});

it('lets the fabric of a node type be empty, which is unknown', () => {
  const pool = {
    id: 'p',
    nodeTypes: [{ id: 't', purchaseModel: 1, eligibleForTandemn: true, fabricId: '' }],
  };
  expect(checkSnapshot(snapshotOf({ capacityPools: [pool] }), { nowMs: NOW_MS }).findings).toEqual([]);
});
