/**
 * What a validator says of a snapshot. Findings come in document order and are
 * capped, warnings before rejects, with a count of what was left out, so that a
 * snapshot with a million faults costs a response of bounded size.
 */
import { MAX_FINDINGS } from './snapshot/limits.ts';

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

/** The response of a check that found nothing. Shared, so that a clean check allocates nothing. */
export const NO_FINDINGS: Findings = Object.freeze({
  findings: Object.freeze([]),
  omitted: 0,
  rejects: 0,
  warnings: 0,
});

/** What a collector reads of a rule; the rule book's rules have more. */
interface ReportedRule {
  readonly code: string;
  readonly severity: Severity;
  /** A warning with `strict` too. */
  readonly alwaysWarns?: true;
}

/**
 * The first `cap` findings of a list, in its order, where a reject is never left out for a
 * warning: a refused push must say why.
 */
export function capFindings(findings: readonly Finding[], cap: number): readonly Finding[] {
  if (findings.length <= cap) return findings;
  const rejects = findings.reduce((count, { severity }) => count + (severity === 'reject' ? 1 : 0), 0);
  let rejectsLeft = Math.min(rejects, cap);
  let warningsLeft = cap - rejectsLeft;
  return findings.filter(({ severity }) => (severity === 'reject' ? rejectsLeft-- > 0 : warningsLeft-- > 0));
}

/**
 * Gathers findings in the order in which they are reported, and keeps `cap` of them, the
 * first rejects before the first warnings.
 */
export class FindingCollector {
  readonly #cap: number;
  readonly #strict: boolean;
  /** At most `cap` of either severity. */
  readonly #kept: Finding[] = [];
  #rejects = 0;
  #warnings = 0;

  /**
   * @param options.strict turns every warning into a reject, but for those of rules that always warn.
   * @param options.cap findings kept; the rest are only counted.
   */
  constructor(options: { readonly strict?: boolean | undefined; readonly cap?: number | undefined } = {}) {
    this.#cap = options.cap ?? MAX_FINDINGS;
    this.#strict = options.strict ?? false;
  }

  /**
   * Counts a broken rule. Path and message are functions because past the cap
   * nobody reads them, and building a million of them would be the costliest part
   * of validating a hopeless snapshot.
   */
  report(rule: ReportedRule, path: () => string, message: () => string): void {
    const severity = this.#strict && rule.alwaysWarns !== true ? 'reject' : rule.severity;
    const before = severity === 'reject' ? this.#rejects++ : this.#warnings++;
    if (before < this.#cap) {
      this.#kept.push({ code: rule.code, severity, path: path(), message: message() });
    }
  }

  /** What was reported so far. */
  result(): Findings {
    if (this.#rejects + this.#warnings === 0) return NO_FINDINGS;
    const findings = capFindings([...this.#kept], this.#cap);
    return {
      findings,
      omitted: this.#rejects + this.#warnings - findings.length,
      rejects: this.#rejects,
      warnings: this.#warnings,
    };
  }
}
