import type { BufferedBody } from '../../http/send-pieces.ts';

/** Responses that were made once and may be asked for again: those between two reads of the heads, in every form. */
const REMEMBERED = 64;

/**
 * Finished responses of GET /v1/map, by etag and encoding. Those who fetch the same map between
 * two changes are sent the same bytes; that it is the same map is what the heads, read again,
 * have just said.
 *
 * A response is kept when it is made for the second time. Where the map changes between any two
 * requests none is ever asked for again, and to keep them all would have every response made in
 * memory that the process did not use before, which costs more than the making.
 */
export class ResponseCache {
  readonly #responses = new Map<string, BufferedBody>();
  readonly #madeOnce = new Set<string>();
  #heldBytes = 0;

  constructor(private readonly maxBytes: number) {}

  get heldBytes(): number {
    return this.#heldBytes;
  }

  get(etag: string, zipped: boolean): BufferedBody | undefined {
    return this.#responses.get(keyOf(etag, zipped));
  }

  /**
   * Takes note of a response that was made, and keeps it where it was made before. Drops the
   * oldest for it: they are of maps that nobody will be sent again.
   */
  made(etag: string, zipped: boolean, response: BufferedBody): void {
    const key = keyOf(etag, zipped);
    if (this.#responses.has(key) || response.length > this.maxBytes) return;
    if (!this.#madeOnce.delete(key)) {
      this.#remember(key);
      return;
    }
    for (const [oldest, { length }] of this.#responses) {
      if (this.#heldBytes + response.length <= this.maxBytes) break;
      this.#responses.delete(oldest);
      this.#heldBytes -= length;
    }
    this.#responses.set(key, response);
    this.#heldBytes += response.length;
  }

  #remember(key: string): void {
    for (const oldest of this.#madeOnce) {
      if (this.#madeOnce.size < REMEMBERED) break;
      this.#madeOnce.delete(oldest);
    }
    this.#madeOnce.add(key);
  }
}

function keyOf(etag: string, zipped: boolean): string {
  return `${zipped ? 'gzip' : 'plain'} ${etag}`;
}
