import { describe, expect, it } from 'vitest';
import { seededRandom } from '../builders/permute-wire.ts';
import type { Case, Target } from './case.ts';
import { COVERAGE_VARIABLE, Coverage } from './coverage.ts';
import { type Crash, fuzz } from './loop.ts';
import { Random } from './random.ts';

/** Fails for bytes that begin with all of these, and counts how far a case came if it is asked to. */
const SECRET = Buffer.from([0x80, 0x7f, 0x12, 0x0a, 0xff]);

async function search(guided: boolean, cases: number): Promise<Crash | undefined> {
  const counters = Object.fromEntries([...SECRET.keys()].map((i) => [String(i), 0]));
  (globalThis as Record<string, unknown>)[COVERAGE_VARIABLE] = { secret: { s: counters, f: {}, b: {} } };
  const target: Target = ({ bytes }) => {
    for (const [i, byte] of SECRET.entries()) {
      if (bytes[i] !== byte) return;
      if (guided) counters[String(i)] = (counters[String(i)] ?? 0) + 1;
    }
    throw new Error('found');
  };
  const seed: Case = { format: 'json', bytes: Buffer.from('......') };
  return fuzz({
    target,
    seeds: [seed],
    coverage: new Coverage(),
    random: new Random(seededRandom(7)),
    before: () => undefined,
    kept: () => undefined,
    goOn: (progress) => progress.cases < cases,
  });
}

describe('The fuzzer', () => {
  const budget = 40_000;

  it('finds a fault behind five bytes, one after the other, since it keeps what came further', async () => {
    const crash = await search(true, budget);
    expect(crash?.error).toEqual(new Error('found'));
    expect(Buffer.from(crash?.input.bytes ?? []).subarray(0, SECRET.length)).toEqual(SECRET);
  });

  it('does not find it in as many cases where it is not told how far a case came', async () => {
    expect(await search(false, budget)).toBeUndefined();
  });

  it('takes a target that rejects for one that throws', async () => {
    (globalThis as Record<string, unknown>)[COVERAGE_VARIABLE] = { one: { s: { 0: 0 }, f: {}, b: {} } };
    const crash = await fuzz({
      target: async () => Promise.reject(new Error('late')),
      seeds: [{ format: 'protobuf', bytes: new Uint8Array(1) }],
      coverage: new Coverage(),
      random: new Random(seededRandom(1)),
      before: () => undefined,
      kept: () => undefined,
      goOn: () => true,
    });
    expect(crash?.error).toEqual(new Error('late'));
  });
});

describe('Coverage', () => {
  it('tells a counter that was never reached, and one that is reached far more often, from the rest', () => {
    const s: Record<string, number> = { 0: 0, 1: 0 };
    const b = { 0: [0, 0] };
    (globalThis as Record<string, unknown>)[COVERAGE_VARIABLE] = { file: { s, f: {}, b } };
    const coverage = new Coverage();
    const count = (statement: number, arm: number): number => {
      s[0] = statement;
      b[0][1] = arm;
      return coverage.take();
    };
    expect(count(1, 0)).toBe(1);
    expect(count(1, 0)).toBe(0);
    expect(count(1, 1)).toBe(1);
    expect(count(100, 1)).toBe(1);
    expect(count(101, 1)).toBe(0);
    expect(coverage.reached).toEqual({ points: 2, of: 4 });
    expect(s[0]).toBe(0);
  });

  it('is not to be had where no code is instrumented', () => {
    (globalThis as Record<string, unknown>)[COVERAGE_VARIABLE] = {};
    expect(() => new Coverage()).toThrow('No code is instrumented, so nothing can guide the fuzzing.');
  });
});
