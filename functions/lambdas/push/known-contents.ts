/**
 * Contents that this process has judged and found nothing in. Most pushes repeat the content of the
 * one before: for those nothing is decoded, checked and encoded again.
 */

import type { AcceleratorTotals } from '../../core/snapshot/accelerators.ts';
import { contentIdOf } from '../../core/snapshot/content.ts';
import type { WireContent } from '../../core/snapshot/wire-content.ts';
import type { ClusterIdentity } from '../../gen/resourcemap/v1/resource_map_pb.ts';

/** What a push needs of a content that no rule found anything in. */
export interface KnownContent {
  readonly contentId: string;
  readonly cluster: ClusterIdentity;
  readonly accelerators: readonly AcceleratorTotals[];
}

interface Remembered extends KnownContent {
  /** Bytes of the content as it came, to tell most others apart without a digest. */
  readonly wireLength: number;
  readonly wireDigest: string;
}

/** Clusters of which the last content is remembered; each takes a kilobyte or two. */
export const MAX_KNOWN_CONTENTS = 10_000;

/**
 * The last content of each cluster, by a SHA-256 of it as the agent encodes it. That the rules find
 * nothing in it holds for as long as the process lives, since no rule on content depends on the
 * clock; those on time and counter are applied to every push.
 */
export class KnownContents {
  /** By cluster id, the oldest first. */
  readonly #contents = new Map<string, Remembered>();

  constructor(private readonly max: number = MAX_KNOWN_CONTENTS) {}

  /** What is known of the content, if it is the last one of the cluster. */
  find(clusterId: string, wire: WireContent): KnownContent | undefined {
    const last = this.#contents.get(clusterId);
    // A digest takes as long as inflating does, and most contents that differ have another length.
    if (last?.wireLength !== wire.length) return undefined;
    return contentIdOf(clusterId, wire.pieces) === last.wireDigest ? last : undefined;
  }

  /** @param content in canonical form: where the agent encodes so, its digest is the wire's as well */
  remember(clusterId: string, wire: WireContent, known: KnownContent, content: Uint8Array): void {
    const wireDigest = isSame(wire, content) ? known.contentId : contentIdOf(clusterId, wire.pieces);
    this.#contents.delete(clusterId);
    this.#contents.set(clusterId, { ...known, wireLength: wire.length, wireDigest });
    for (const oldest of this.#contents.keys()) {
      if (this.#contents.size <= this.max) return;
      this.#contents.delete(oldest);
    }
  }
}

function isSame({ pieces, length }: WireContent, content: Uint8Array): boolean {
  if (length !== content.length) return false;
  let at = 0;
  return pieces.every((piece) => {
    const part = content.subarray(at, at + piece.length);
    at += piece.length;
    return Buffer.compare(piece, part) === 0;
  });
}
