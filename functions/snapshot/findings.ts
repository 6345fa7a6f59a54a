/**
 * What a validator says of a snapshot. Findings come in document order and are
 * capped, with a count of what was left out, so that a snapshot with a million
 * faults costs an answer of bounded size.
 */
import { MAX_FINDINGS } from './limits.ts';

/** `reject` refuses the push, `warn` goes along with an accepted one. */
export type Severity = 'reject' | 'warn';

/** One broken rule. */
export interface Finding {
  /** Stable; clients match on it. */
  readonly code: string;
  readonly severity: Severity;
  /** Protobuf field path with indexes, such as `capacity_pools[2].node_types[0].in_use[17]`. */
  readonly path: string;
  /** Names the offending value and what would be right. */
  readonly message: string;
}

/** All findings of one validation, of which at most the cap are kept. */
export interface Findings {
  readonly findings: readonly Finding[];
  /** Findings beyond the cap. */
  readonly omitted: number;
  /** Of all findings, kept or not. */
  readonly rejects: number;
  /** Of all findings, kept or not. */
  readonly warnings: number;
}

/** Gathers findings in the order in which they are added and keeps the first `cap`. */
export class FindingCollector implements Findings {
  readonly #kept: Finding[] = [];
  #rejects = 0;
  #warnings = 0;

  constructor(private readonly cap: number = MAX_FINDINGS) {}

  add(finding: Finding): void {
    if (finding.severity === 'reject') this.#rejects++;
    else this.#warnings++;
    if (this.#kept.length < this.cap) this.#kept.push(finding);
  }

  /** True once further findings are only counted, so that a rule can save itself the message. */
  get full(): boolean {
    return this.#kept.length >= this.cap;
  }

  get findings(): readonly Finding[] {
    return this.#kept;
  }

  get omitted(): number {
    return this.#rejects + this.#warnings - this.#kept.length;
  }

  get rejects(): number {
    return this.#rejects;
  }

  get warnings(): number {
    return this.#warnings;
  }
}
