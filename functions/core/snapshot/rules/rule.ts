/**
 * What a rule is. Each section's file declares its rules as data, under their codes,
 * and reports findings through them: the severity has no other source, and
 * docs/rules.md is generated from the same objects.
 */
import type { Severity } from '../../findings.ts';

/** One rule of the book. */
export interface Rule {
  /** Stable; clients match on it. */
  readonly code: string;
  readonly severity: Severity;
  /** Where a finding points: its path with `[]` for each index. Several where the rule looks at several fields. */
  readonly at: readonly string[];
  /** What must be so. */
  readonly says: string;
  /** A warning that `strict` leaves one: what it says may be true, and no agent can do anything about it. */
  readonly alwaysWarns?: true;
}

/** A part of the book: the rules of one file, in the order in which the book lists them. */
export interface Section {
  readonly title: string;
  readonly rules: readonly Rule[];
}

type Declared = Omit<Rule, 'code'>;

/** Declares a rule that refuses the snapshot. */
export function reject(at: string | readonly string[], says: string): Declared {
  return { severity: 'reject', at: typeof at === 'string' ? [at] : at, says };
}

/** Declares a rule that goes along with an accepted snapshot. */
export function warn(at: string | readonly string[], says: string): Declared {
  return { severity: 'warn', at: typeof at === 'string' ? [at] : at, says };
}

/** Declares a rule that goes along with an accepted snapshot, with `strict` too. */
export function warnAlways(at: string | readonly string[], says: string): Declared {
  return { ...warn(at, says), alwaysWarns: true };
}

/** Turns declarations, keyed by their codes, into rules. */
export function rulesOf<C extends string>(
  declared: Readonly<Record<C, Declared>>,
): Readonly<Record<C, Rule>> {
  const rules = {} as Record<C, Rule>;
  for (const code of Object.keys(declared) as C[]) rules[code] = { code, ...declared[code] };
  return rules;
}
