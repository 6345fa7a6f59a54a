/**
 * Bodies by their ids, in memory, ready to be joined. A body never changes, so what is here
 * needs no asking; which bodies a response is made of is decided by heads that are read again.
 */
import type { Fragment } from '../core/map/fragment.ts';

/** A body in the forms in which it has been asked for. */
interface CachedContent {
  readonly protobuf: Fragment;
  json?: Fragment;
}

/**
 * Holds at most so many bytes. What no head names any more is dropped first; then nothing is
 * taken in that does not fit. A map that is larger than the cache is read in full by every
 * answer, so throwing out what was used longest ago, as caches do, would throw out everything
 * just before it is used again.
 */
export class ContentCache {
  readonly #contents = new Map<string, CachedContent>();
  #heldBytes = 0;

  /** @param maxBytes of fragments, their small change left out */
  constructor(private readonly maxBytes: number) {}

  get heldBytes(): number {
    return this.#heldBytes;
  }

  get size(): number {
    return this.#contents.size;
  }

  get(contentId: string): Readonly<CachedContent> | undefined {
    return this.#contents.get(contentId);
  }

  put(contentId: string, protobuf: Fragment): void {
    if (this.#contents.has(contentId) || !this.#hasRoom(protobuf.heldBytes)) return;
    this.#contents.set(contentId, { protobuf });
    this.#heldBytes += protobuf.heldBytes;
  }

  /** Adds the JSON form of a body that is here. */
  putJson(contentId: string, json: Fragment): void {
    const body = this.#contents.get(contentId);
    if (body === undefined || body.json !== undefined || !this.#hasRoom(json.heldBytes)) return;
    body.json = json;
    this.#heldBytes += json.heldBytes;
  }

  /** Lets a fragment of a body that is here keep its inflated bytes, where there is room for them. */
  keepRaw(contentId: string, fragment: Fragment): void {
    const body = this.#contents.get(contentId);
    if (body?.protobuf !== fragment && body?.json !== fragment) return;
    const before = fragment.heldBytes;
    if (fragment.keepsRaw || !this.#hasRoom(fragment.rawLength)) return;
    fragment.keepRaw();
    this.#heldBytes += fragment.heldBytes - before;
  }

  /** Drops what is not among the bodies that some head names. */
  keepOnly(live: ReadonlySet<string>): void {
    for (const [contentId, { protobuf, json }] of this.#contents) {
      if (live.has(contentId)) continue;
      this.#contents.delete(contentId);
      this.#heldBytes -= protobuf.heldBytes + (json?.heldBytes ?? 0);
    }
  }

  #hasRoom(bytes: number): boolean {
    return this.#heldBytes + bytes <= this.maxBytes;
  }
}
