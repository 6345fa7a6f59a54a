/**
 * The samples as series: what each of the real clusters said at one time after the other. A cluster of
 * which only one time is recorded has a node cordoned in between.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { clone, create } from '@bufbuild/protobuf';
import { decodeSnapshot } from '../core/snapshot/decode.ts';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
  NodeOccupancySchema,
} from '../gen/resourcemap/v1/resource_map_pb.ts';

/** From dist/local and from functions/local alike. */
const SAMPLES = new URL('../../functions/local/samples/', import.meta.url);
const SERIES = new URL('series/', SAMPLES);

/** Snapshots of one cluster in the order in which they were taken; at least two. */
export type Series = readonly ClusterResourceMap[];

export async function sampleSeries(): Promise<readonly Series[]> {
  const files = [SAMPLES, SERIES].flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.json'))
      .map((name) => ({ name, path: fileURLToPath(new URL(name, folder)) })),
  );
  const families = new Map<string, ClusterResourceMap[]>();
  for (const { name, path } of files.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const family = name.replace(/-t\d+\.json$/, '');
    const snapshots = families.get(family) ?? [];
    families.set(family, snapshots);
    snapshots.push(decodeSnapshot(readFileSync(path), 'json'));
  }
  return [...families.values()].map((snapshots) => {
    const [only] = snapshots;
    return only === undefined || snapshots.length > 1 ? snapshots : [only, withCordonedNode(only)];
  });
}

/** The same once a node that is on its way has arrived, cordoned; without such a node, an idle one is cordoned. */
function withCordonedNode(snapshot: ClusterResourceMap): ClusterResourceMap {
  const cordoned = clone(ClusterResourceMapSchema, snapshot);
  const types = cordoned.capacityPools
    .flatMap(({ nodeTypes }) => nodeTypes)
    .filter(({ acceleratorsPerNode }) => acceleratorsPerNode > 0);
  const arriving = types.find(({ pendingNodeCount = 0 }) => pendingNodeCount > 0);
  const type = arriving ?? types.find(({ totalCount, inUse }) => inUse.length < totalCount);
  if (arriving !== undefined) {
    arriving.pendingNodeCount = (arriving.pendingNodeCount ?? 0) - 1;
    arriving.totalCount++;
  }
  type?.inUse.push(create(NodeOccupancySchema, { unavailableAccelerators: type.acceleratorsPerNode }));
  return cordoned;
}
