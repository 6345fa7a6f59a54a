/** Fleets of real-sized clusters: Alibaba's, cut in five and loaded denser, under other names. */
import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { create, fromJsonString } from '@bufbuild/protobuf';
import {
  ClusterIdentitySchema,
  type ClusterResourceMap,
  ClusterResourceMapSchema,
} from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { acceleratorTotals } from '../../functions/snapshot/accelerators.ts';
import { bodyIdOf, deflateBody, type EncodedBody } from '../../functions/snapshot/body.ts';
import { encodeBody } from '../../functions/snapshot/canonical.ts';
import type { Head } from '../../functions/store/head.ts';

const SOURCES = ['openb-split-c0-t0.json', 'openb-split-c2-t1.json'].map((file) =>
  readFileSync(new URL(`../data/${file}`, import.meta.url), 'utf8'),
);

export interface BenchCluster {
  readonly head: Head;
  /** Encoded, without time and counter. */
  readonly raw: Uint8Array;
  readonly body: EncodedBody;
}

/** The snapshot of cluster number `index`. */
export function benchSnapshot(index: number): ClusterResourceMap {
  const snapshot = fromJsonString(ClusterResourceMapSchema, SOURCES[index % SOURCES.length] ?? '');
  snapshot.cluster = create(ClusterIdentitySchema, {
    clusterId: `prod-eu-west-1-cluster-${String(index).padStart(4, '0')}`,
    provider: 'aws',
    region: 'eu-west-1',
  });
  snapshot.logicalCounter = 1_000_000n + BigInt(index);
  return snapshot;
}

/** So many clusters, as the store holds them after a push of each. */
export async function benchFleet(clusters: number): Promise<BenchCluster[]> {
  const fleet: BenchCluster[] = [];
  for (let index = 0; index < clusters; index++) {
    const snapshot = benchSnapshot(index);
    const clusterId = snapshot.cluster?.clusterId ?? '';
    const accelerators = acceleratorTotals(snapshot);
    const raw = encodeBody(snapshot);
    const body = await deflateBody(bodyIdOf(clusterId, raw), raw);
    fleet.push({
      raw,
      body,
      head: {
        clusterId,
        highWater: snapshot.logicalCounter,
        collectedAtNanos: 1_767_225_600_123_456_789n + BigInt(index),
        receivedAtMs: 1_767_225_600_500,
        contentSince: { counter: snapshot.logicalCounter, atMs: 1_767_225_600_500 },
        body: {
          bodyId: body.bodyId,
          parts: 1,
          rawBytes: body.rawBytes,
          storedBytes: body.deflated.length,
          crc32: body.crc32,
          storedCrc32: crc32(body.deflated),
          expiresAtS: 1_800_000_000,
        },
        identity: { displayName: '', provider: 'aws', region: 'eu-west-1', site: '' },
        accelerators,
        omittedModels: 0,
        warnings: 0,
      },
    });
  }
  return fleet;
}
