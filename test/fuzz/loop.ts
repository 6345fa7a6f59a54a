/**
 * The fuzzer: a case that reaches something new is kept and mutated further.
 *
 * It is our own because none of the libraries runs here: Jazzer.js 4 (libFuzzer, ES modules)
 * ships a binary for glibc 2.38 and newer, which Debian 12 has not, and builds from source
 * only with LLVM's sources fetched from elsewhere; its earlier versions load theirs from
 * elsewhere, too; jsfuzz has had no release for years and knows no ES modules.
 */
import type { Case, Target } from './case.ts';
import type { Coverage } from './coverage.ts';
import { MAX_CASE_BYTES, mutate } from './mutate.ts';
import type { Random } from './random.ts';

export interface LoopOptions {
  readonly target: Target;
  /** At least one case. */
  readonly seeds: readonly Case[];
  readonly coverage: Coverage;
  readonly random: Random;
  /** Told each case before it runs. */
  readonly before: (input: Case) => void;
  /** Told each case that reached something new. */
  readonly kept: (input: Case) => void;
  /** Asked before each case. */
  readonly goOn: (progress: Progress) => boolean;
}

export interface Progress {
  readonly cases: number;
  readonly kept: number;
}

/** A case that failed, and how. */
export interface Crash {
  readonly input: Case;
  readonly error: unknown;
}

/** How often bytes that nobody ever sent take the place of a mutated case. */
const NOISE = 0.01;

/** Runs the seeds, then mutated ones, until one fails or `goOn` says no. */
export async function fuzz(options: LoopOptions): Promise<Crash | undefined> {
  const { target, seeds, coverage, random, before, kept, goOn } = options;
  const pool: Case[] = [];
  let cases = 0;
  const run = async (input: Case): Promise<Crash | undefined> => {
    cases++;
    before(input);
    try {
      await target(input);
    } catch (error) {
      return { input, error };
    }
    return undefined;
  };

  for (const seed of seeds) {
    const crash = await run(seed);
    if (crash !== undefined) return crash;
    coverage.take();
    pool.push(seed);
  }
  let found = 0;
  while (goOn({ cases, kept: found })) {
    const input = random.chance(NOISE) ? noise(random) : mutant(pool, random);
    const crash = await run(input);
    if (crash !== undefined) return crash;
    if (coverage.take() === 0) continue;
    found++;
    pool.push(input);
    kept(input);
  }
  return undefined;
}

/** The later a case was kept the likelier it is chosen: what it reached is not yet explored. */
function mutant(pool: readonly Case[], random: Random): Case {
  const input = random.chance(0.5)
    ? random.of(pool)
    : random.of(pool.slice(-Math.max(16, Math.ceil(pool.length / 8))));
  const alike = pool.filter(({ format }) => format === input.format);
  return mutate(input, random.of(alike), random);
}

function noise(random: Random): Case {
  const length = random.below(random.chance(0.9) ? 64 : MAX_CASE_BYTES);
  const bytes = Buffer.from(Array.from({ length }, () => random.below(256)));
  return { format: random.of(['protobuf', 'json']), bytes };
}
