/** Snapshots of real clusters, as their agents would push them now. */
import { readFile } from 'node:fs/promises';
import { fromJsonString, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
} from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';

const SAMPLES = new URL('../../functions/local/samples/', import.meta.url);

export type Sample =
  | 'aicr-eks-h100-t3'
  | 'kops-l4-t3'
  | 'openb-instant-t2'
  | 'upcloud-l40s-t0'
  | 'viettel-l40s-t1';

/** A sample under the id, counter and time that are given. */
export async function snapshotOf(
  sample: Sample,
  { clusterId, counter, atMs = Date.now() }: { clusterId: string; counter: bigint; atMs?: number },
): Promise<ClusterResourceMap> {
  const snapshot = fromJsonString(
    ClusterResourceMapSchema,
    await readFile(new URL(`${sample}.json`, SAMPLES), 'utf8'),
  );
  if (snapshot.cluster !== undefined) snapshot.cluster.clusterId = clusterId;
  snapshot.logicalCounter = counter;
  snapshot.collectedAt = timestampFromMs(atMs);
  return snapshot;
}

export function encode(snapshot: ClusterResourceMap): Uint8Array {
  return toBinary(ClusterResourceMapSchema, snapshot);
}
