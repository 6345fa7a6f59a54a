/** The map as a table that a person reads: one line a node type, since a sum over them hides what fits. */
import type {
  ClusterResourceMap,
  GlobalResourceMap,
  NodeTypeCapacity,
} from '../gen/resourcemap/v1/resource_map_pb.ts';
import { table } from '../terminal/table.ts';

/** In place of a table without lines. Filters may hide what is in the map. */
export const NO_CLUSTER =
  'No cluster of those that are asked for is in the map; rmap clusters lists all that are known.';

export function mapTable(map: GlobalResourceMap): string {
  if (map.clusterResourceMaps.length === 0) return NO_CLUSTER;
  return table(
    [
      { title: 'CLUSTER' },
      { title: 'COUNTER', align: 'right' },
      { title: 'POOL' },
      { title: 'NODE TYPE' },
      { title: 'MODEL' },
      { title: 'NODES', align: 'right' },
      { title: 'PER NODE', align: 'right' },
      { title: 'FREE', align: 'right' },
      { title: 'FREE PER NODE (free × nodes)' },
    ],
    map.clusterResourceMaps.flatMap(rowsOf),
  );
}

function rowsOf(snapshot: ClusterResourceMap): string[][] {
  const rows: string[][] = [];
  for (const pool of snapshot.capacityPools) {
    for (const type of pool.nodeTypes) {
      if (type.acceleratorsPerNode === 0) continue;
      const histogram = freeHistogram(type);
      const free = [...histogram].reduce((sum, [size, nodes]) => sum + BigInt(size) * BigInt(nodes), 0n);
      rows.push([
        snapshot.cluster?.clusterId ?? '',
        String(snapshot.logicalCounter),
        pool.id,
        type.id,
        type.acceleratorModel || '-',
        String(type.totalCount),
        String(type.acceleratorsPerNode),
        String(free),
        [...histogram]
          .filter(([size]) => size > 0)
          .sort(([a], [b]) => b - a)
          .map(([size, nodes]) => `${size}×${nodes}`)
          .join(' ') || 'none',
      ]);
    }
  }
  if (rows.length === 0)
    rows.push([
      snapshot.cluster?.clusterId ?? '',
      String(snapshot.logicalCounter),
      '-',
      '-',
      '-',
      '0',
      '-',
      '0',
      'none',
    ]);
  return rows;
}

/** Nodes by their number of free accelerators. */
function freeHistogram(type: NodeTypeCapacity): Map<number, number> {
  const histogram = new Map<number, number>();
  const add = (free: number, nodes: number): void => {
    if (nodes > 0) histogram.set(free, (histogram.get(free) ?? 0) + nodes);
  };
  for (const node of type.inUse) {
    const allocated = node.allocations.reduce((sum, a) => sum + a.acceleratorCount, 0);
    add(
      type.acceleratorsPerNode - allocated - node.externalAcceleratorsInUse - node.unavailableAccelerators,
      1,
    );
  }
  add(type.acceleratorsPerNode, type.totalCount - type.inUse.length);
  return histogram;
}
