import { create, equals, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Memory, memoryOf, NO_MEMORY } from '../../../functions/agent/mapping/memory.ts';
import { readDump } from '../../../functions/agent/mapping/read-objects.ts';
import { type AgentSettings, DEFAULT_SETTINGS } from '../../../functions/agent/mapping/settings.ts';
import { numbersOf, snapshotOf } from '../../../functions/agent/mapping/snapshot.ts';
import { checkSnapshot } from '../../../functions/core/snapshot/rules/index.ts';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
} from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { arbitraryNode, arbitraryObjects, arbitraryPod, arbitrarySettings } from './arbitrary-cluster.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');

function take(
  objects: readonly unknown[],
  settings: AgentSettings = DEFAULT_SETTINGS,
  memory: Memory = NO_MEMORY,
) {
  const { facts } = readDump(objects, settings);
  return snapshotOf({
    facts: { ...facts, clusterUid: 'cluster' },
    settings,
    memory,
    collectedAtMs: NOW,
    counter: 1n,
  });
}

function rejects(snapshot: ClusterResourceMap) {
  return checkSnapshot(snapshot, { nowMs: NOW }).findings.filter(({ severity }) => severity === 'reject');
}

const RUNS = { numRuns: 250, seed: 18 };

test('any objects whatever give a snapshot that the rule book accepts', () => {
  fc.assert(
    fc.property(arbitraryObjects, arbitrarySettings, (objects, settings) => {
      const { snapshot } = take(objects, settings);
      expect(rejects(snapshot)).toEqual([]);
      toBinary(ClusterResourceMapSchema, snapshot);
    }),
    RUNS,
  );
});

test('so does a second look with what the first remembers, and one with the snapshot that was pushed', () => {
  fc.assert(
    fc.property(arbitraryObjects, arbitraryObjects, (before, after) => {
      const first = take(before);
      expect(rejects(take(after, DEFAULT_SETTINGS, first.memory).snapshot)).toEqual([]);
      expect(rejects(take(after, DEFAULT_SETTINGS, memoryOf(first.snapshot)).snapshot)).toEqual([]);
    }),
    { ...RUNS, numRuns: 150 },
  );
});

test('every node is in exactly one node type, and none uses more than it has', () => {
  fc.assert(
    fc.property(arbitraryObjects, (objects) => {
      const names = new Set(readDump(objects, DEFAULT_SETTINGS).facts.nodes.map(({ name }) => name));
      const types = take(objects).snapshot.capacityPools.flatMap((pool) => pool.nodeTypes);
      expect(types.reduce((sum, { totalCount }) => sum + totalCount, 0)).toBe(names.size);
      for (const { acceleratorsPerNode, inUse } of types) {
        for (const { allocations, externalAcceleratorsInUse, unavailableAccelerators } of inUse) {
          const allocated = allocations.reduce((sum, { acceleratorCount }) => sum + acceleratorCount, 0);
          expect(allocated + externalAcceleratorsInUse + unavailableAccelerators).toBeLessThanOrEqual(
            acceleratorsPerNode,
          );
        }
      }
    }),
    RUNS,
  );
});

test('the order of the objects changes nothing', () => {
  fc.assert(
    fc.property(
      arbitraryObjects.chain((objects) =>
        fc.tuple(
          fc.constant(objects),
          fc.shuffledSubarray([...objects], { minLength: objects.length, maxLength: objects.length }),
        ),
      ),
      ([objects, shuffled]) => {
        const [one, other] = [take(objects), take(shuffled)];
        expect(equals(ClusterResourceMapSchema, one.snapshot, other.snapshot)).toBe(true);
        expect(other.notes).toEqual(one.notes);
      },
    ),
    RUNS,
  );
});

test('the three numbers of a node are never below 0 and never more than it has', () => {
  const count = fc.integer({ min: 0, max: 20 });
  fc.assert(
    fc.property(count, count, count, count, count, (per, usable, held, shares, allocation) => {
      const allocated = Math.min(allocation, per, held);
      const { external, unavailable } = numbersOf(per, usable, held, shares, allocated);
      const free = per - allocated - external - unavailable;
      expect(Math.min(external, unavailable, free)).toBeGreaterThanOrEqual(0);
      expect(free).toBe(Math.max(0, Math.min(usable - held, per - allocated - external)));
    }),
    RUNS,
  );
});

/** Free and used devices of each node, told by the one pool that each has to itself. */
function byNode(objects: readonly unknown[]) {
  const { snapshot } = take(objects.map(inOwnPool));
  return new Map(
    snapshot.capacityPools.map(({ id, nodeTypes }) => [
      id,
      nodeTypes.map(({ acceleratorsPerNode, inUse }) => {
        const used = inUse.reduce(
          (sum, each) =>
            sum +
            each.externalAcceleratorsInUse +
            each.allocations.reduce((n, { acceleratorCount }) => n + acceleratorCount, 0),
          0,
        );
        const unavailable = inUse.reduce((sum, each) => sum + each.unavailableAccelerators, 0);
        return { acceleratorsPerNode, used, unavailable };
      }),
    ]),
  );
}

function inOwnPool(object: unknown): unknown {
  const node = object as { kind?: string; metadata?: { name?: string; labels?: object } } | null;
  if (node?.kind !== 'Node') return object;
  return {
    ...node,
    metadata: {
      ...node.metadata,
      labels: { ...node.metadata?.labels, 'karpenter.sh/nodepool': node.metadata?.name },
    },
  };
}

test("another node changes no node's numbers", () => {
  fc.assert(
    fc.property(arbitraryObjects, arbitraryNode, (objects, more) => {
      const name = 'added';
      const added = { ...more, metadata: { ...more.metadata, name } };
      const [before, after] = [byNode(objects), byNode([...objects, added])];
      after.delete(name);
      expect(after).toEqual(before);
    }),
    RUNS,
  );
});

test('another pod changes the numbers of no node but its own', () => {
  fc.assert(
    fc.property(arbitraryObjects, arbitraryPod, fc.constantFrom('n0', 'n1'), (objects, more, nodeName) => {
      const spec = { ...(more.spec as object), nodeName, resourceClaims: [] };
      const added = { ...more, metadata: { ...more.metadata, name: 'added' }, spec };
      const [before, after] = [byNode(objects), byNode([...objects, added])];
      before.delete(nodeName);
      after.delete(nodeName);
      expect(after).toEqual(before);
    }),
    RUNS,
  );
});

test('a snapshot without any object is accepted', () => {
  expect(rejects(take([]).snapshot)).toEqual([]);
  expect(take([]).snapshot.cluster).toEqual(
    create(ClusterResourceMapSchema, { cluster: { clusterId: 'cluster' } }).cluster,
  );
});
