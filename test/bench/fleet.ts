/** Fleets of real-sized clusters: Alibaba's, cut in five and loaded denser, under other names. */
import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { create, fromJsonString, toBinary } from '@bufbuild/protobuf';
import { acceleratorTotals } from '../../functions/core/snapshot/accelerators.ts';
import { encodeContent } from '../../functions/core/snapshot/canonical.ts';
import { contentIdOf, deflateContent, type EncodedContent } from '../../functions/core/snapshot/content.ts';
import { ClusterResourceMapSchema } from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import type { Head } from '../../functions/storage/head.ts';

/** A source's snapshot apart from its identity, encoded in canonical form. */
const SOURCES = ['openb-split-c0-t0.json', 'openb-split-c2-t1.json'].map((file) => {
  const text = readFileSync(new URL(`../data/${file}`, import.meta.url), 'utf8');
  const snapshot = fromJsonString(ClusterResourceMapSchema, text);
  delete snapshot.cluster;
  return { accelerators: acceleratorTotals(snapshot), encoded: encodeContent(snapshot) };
});

export interface BenchCluster {
  readonly head: Head;
  /** Encoded, without time and counter. */
  readonly raw: Uint8Array;
  readonly body: EncodedContent;
}

/** So many clusters, as the store holds them after a push of each. */
export async function benchFleet(clusters: number): Promise<BenchCluster[]> {
  const fleet: BenchCluster[] = [];
  for (let index = 0; index < clusters; index++) {
    const source = SOURCES[index % SOURCES.length];
    if (source === undefined) throw new Error('the fleet has no source');
    const clusterId = `prod-eu-west-1-cluster-${String(index).padStart(4, '0')}`;
    const counter = 1_000_000n + BigInt(index);
    const identity = create(ClusterResourceMapSchema, {
      cluster: { clusterId, provider: 'aws', region: 'eu-west-1' },
    });
    // The identity is the first field, so the canonical encoding of both begins with it.
    const raw = Buffer.concat([toBinary(ClusterResourceMapSchema, identity), source.encoded]);
    const body = await deflateContent(contentIdOf(clusterId, raw), raw);
    fleet.push({
      raw,
      body,
      head: {
        clusterId,
        highWater: counter,
        collectedAtNanos: 1_767_225_600_123_456_789n + BigInt(index),
        receivedAtMs: 1_767_225_600_500,
        contentSince: { counter, atMs: 1_767_225_600_500 },
        body: {
          contentId: body.contentId,
          parts: 1,
          rawBytes: body.rawBytes,
          storedBytes: body.deflated.length,
          crc32: body.crc32,
          storedCrc32: crc32(body.deflated),
          expiresAtS: 1_800_000_000,
        },
        identity: { displayName: '', provider: 'aws', region: 'eu-west-1', site: '' },
        accelerators: source.accelerators,
        omittedModels: 0,
        warnings: 0,
      },
    });
  }
  return fleet;
}
