/**
 * What the worker and the process that watches it share: the case under way. A case that
 * never ends, or takes all the memory, leaves nobody in the worker to tell of it.
 */
import type { Case } from './case.ts';
import { MAX_CASE_BYTES } from './mutate.ts';

const SLOTS = { cases: 0, length: 1, format: 2, kept: 3, reached: 4, of: 5 } as const;
const HEADER_BYTES = 32;

export interface Seen {
  readonly cases: number;
  readonly kept: number;
  readonly reached: number;
  readonly of: number;
}

export class CaseWatch {
  readonly #header: Int32Array;
  readonly #bytes: Uint8Array;

  /** @param memory from {@link CaseWatch.memory} */
  constructor(memory: SharedArrayBuffer) {
    this.#header = new Int32Array(memory, 0, HEADER_BYTES / 4);
    this.#bytes = new Uint8Array(memory, HEADER_BYTES);
  }

  /** @param maxBytes of the largest seed */
  static memory(maxBytes: number): SharedArrayBuffer {
    return new SharedArrayBuffer(HEADER_BYTES + Math.max(MAX_CASE_BYTES, maxBytes));
  }

  begin({ format, bytes }: Case): void {
    this.#bytes.set(bytes);
    this.#header[SLOTS.length] = bytes.length;
    this.#header[SLOTS.format] = format === 'json' ? 1 : 0;
    Atomics.add(this.#header, SLOTS.cases, 1);
  }

  report({ kept, reached, of }: Omit<Seen, 'cases'>): void {
    this.#header[SLOTS.kept] = kept;
    this.#header[SLOTS.reached] = reached;
    this.#header[SLOTS.of] = of;
  }

  get current(): Case {
    return {
      format: this.#header[SLOTS.format] === 1 ? 'json' : 'protobuf',
      bytes: this.#bytes.slice(0, this.#header[SLOTS.length]),
    };
  }

  get seen(): Seen {
    const { cases, kept, reached, of } = SLOTS;
    const at = (slot: number): number => this.#header[slot] ?? 0;
    return { cases: Atomics.load(this.#header, cases), kept: at(kept), reached: at(reached), of: at(of) };
  }
}
