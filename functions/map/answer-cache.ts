import type { FinishedAnswer } from '../http/send-pieces.ts';

/**
 * Finished answers of GET /v1/map, by etag and encoding. Those who fetch the same map between
 * two changes are sent the same bytes; that it is the same map is what the heads, read anew,
 * have just said.
 */
export class AnswerCache {
  readonly #answers = new Map<string, FinishedAnswer>();
  #heldBytes = 0;

  constructor(private readonly maxBytes: number) {}

  get heldBytes(): number {
    return this.#heldBytes;
  }

  get(etag: string, zipped: boolean): FinishedAnswer | undefined {
    return this.#answers.get(keyOf(etag, zipped));
  }

  /** Drops the oldest answers for it: they are of maps that nobody will be sent again. */
  put(etag: string, zipped: boolean, answer: FinishedAnswer): void {
    const key = keyOf(etag, zipped);
    if (this.#answers.has(key) || answer.length > this.maxBytes) return;
    for (const [oldest, { length }] of this.#answers) {
      if (this.#heldBytes + answer.length <= this.maxBytes) break;
      this.#answers.delete(oldest);
      this.#heldBytes -= length;
    }
    this.#answers.set(key, answer);
    this.#heldBytes += answer.length;
  }
}

function keyOf(etag: string, zipped: boolean): string {
  return `${zipped ? 'gzip' : 'plain'} ${etag}`;
}
