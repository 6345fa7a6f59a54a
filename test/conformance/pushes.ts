/** Pushes for the store's tests, and what a reader finds of them. */
import { fromBinary } from '@bufbuild/protobuf';
import { Fragment } from '../../functions/core/map/fragment.ts';
import { encodeContent } from '../../functions/core/snapshot/canonical.ts';
import { contentIdOf, deflateContent } from '../../functions/core/snapshot/content.ts';
import { NO_LOSS } from '../../functions/core/snapshot/rules/index.ts';
import { ClusterResourceMapSchema } from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import {
  type Commit,
  commitSnapshot,
  type Push,
  readPrior,
  type Store,
} from '../../functions/storage/commit.ts';
import type { Head } from '../../functions/storage/head.ts';
import { NOW_MS, snapshotOf } from '../core/snapshot/builders.ts';

export interface PushInit {
  readonly clusterId?: string;
  readonly counter: bigint;
  /** What the snapshot says: anything, and nothing else of it matters. */
  readonly content: string;
  readonly collectedAtNanos?: bigint;
}

/** A push that passed the rules. */
export function pushOf({ clusterId = 'c1', counter, content, collectedAtNanos = counter }: PushInit): Push {
  const body = encodeContent(
    snapshotOf({ cluster: { clusterId }, topology: { fabrics: [{ id: content }] } }),
  );
  const contentId = contentIdOf(clusterId, body);
  return {
    clusterId,
    counter,
    collectedAtNanos,
    contentId,
    identity: { displayName: '', provider: '', region: '', site: '' },
    accelerators: [],
    encode: () => deflateContent(contentId, body),
    succeed: () => ({ warnings: 0, loss: NO_LOSS }),
  };
}

/** Reads what stands there and commits on top of it. */
export async function commit(store: Store, push: Push, nowMs = NOW_MS): Promise<Commit> {
  return commitSnapshot(store, push, await readPrior(store.heads, push.clusterId), nowMs);
}

/** The content that a head names, or nothing where its body is not whole. */
export async function contentOf(store: Store, head: Head): Promise<string | undefined> {
  const deflated = (await store.contents.read([head.body])).get(head.body.contentId);
  if (deflated === undefined) return undefined;
  const raw = Fragment.verify(deflated, head.body.rawBytes, head.body.crc32).raw();
  return fromBinary(ClusterResourceMapSchema, raw).topology?.fabrics[0]?.id;
}

/** The head of a cluster that must have one. */
export async function headOf(store: Store, clusterId = 'c1'): Promise<Head> {
  const head = await store.heads.read(clusterId);
  if (head === undefined) throw new Error(`Cluster ${clusterId} has no head.`);
  return head;
}
