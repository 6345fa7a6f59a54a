/**
 * Bodies by their ids, in memory, ready to be joined. A body never changes, so what is here
 * needs no asking; which bodies an answer is made of is decided by heads that are read anew.
 */
import type { Fragment } from '../core/map/fragment.ts';

/** A body in the forms in which it has been asked for. */
interface CachedBody {
  readonly protobuf: Fragment;
  json?: Fragment;
}

/**
 * Holds at most so many bytes. What no head names any more is dropped first; then nothing is
 * taken in that does not fit. A map that is larger than the cache is read in full by every
 * answer, so throwing out what was used longest ago, as caches do, would throw out everything
 * just before it is used again.
 */
export class BodyCache {
  readonly #bodies = new Map<string, CachedBody>();
  #heldBytes = 0;

  /** @param maxBytes of fragments, their small change left out */
  constructor(private readonly maxBytes: number) {}

  get heldBytes(): number {
    return this.#heldBytes;
  }

  get size(): number {
    return this.#bodies.size;
  }

  get(bodyId: string): Readonly<CachedBody> | undefined {
    return this.#bodies.get(bodyId);
  }

  put(bodyId: string, protobuf: Fragment): void {
    if (this.#bodies.has(bodyId) || !this.#hasRoom(protobuf.heldBytes)) return;
    this.#bodies.set(bodyId, { protobuf });
    this.#heldBytes += protobuf.heldBytes;
  }

  /** Adds the JSON form of a body that is here. */
  putJson(bodyId: string, json: Fragment): void {
    const body = this.#bodies.get(bodyId);
    if (body === undefined || body.json !== undefined || !this.#hasRoom(json.heldBytes)) return;
    body.json = json;
    this.#heldBytes += json.heldBytes;
  }

  /** Lets a fragment of a body that is here keep its inflated bytes, where there is room for them. */
  keepRaw(bodyId: string, fragment: Fragment): void {
    const body = this.#bodies.get(bodyId);
    if (body?.protobuf !== fragment && body?.json !== fragment) return;
    const before = fragment.heldBytes;
    if (fragment.keepsRaw || !this.#hasRoom(fragment.rawLength)) return;
    fragment.keepRaw();
    this.#heldBytes += fragment.heldBytes - before;
  }

  /** Drops what is not among the bodies that some head names. */
  keepOnly(live: ReadonlySet<string>): void {
    for (const [bodyId, { protobuf, json }] of this.#bodies) {
      if (live.has(bodyId)) continue;
      this.#bodies.delete(bodyId);
      this.#heldBytes -= protobuf.heldBytes + (json?.heldBytes ?? 0);
    }
  }

  #hasRoom(bytes: number): boolean {
    return this.#heldBytes + bytes <= this.maxBytes;
  }
}
