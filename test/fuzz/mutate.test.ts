import { describe, expect, it } from 'vitest';
import { decodeSnapshot } from '../../functions/core/snapshot/decode.ts';
import { seededRandom } from '../builders/permute-wire.ts';
import type { Case } from './case.ts';
import { seeds } from './corpus.ts';
import { MAX_CASE_BYTES, mutate } from './mutate.ts';
import { Random } from './random.ts';

const real = seeds('.');

function mutants(format: Case['format'], count: number): Case[] {
  const random = new Random(seededRandom(3));
  const alike = real.filter((each) => each.format === format);
  return Array.from({ length: count }, () => mutate(random.of(alike), random.of(alike), random));
}

function isReadable({ bytes, format }: Case): boolean {
  try {
    decodeSnapshot(bytes, format);
    return true;
  } catch {
    return false;
  }
}

describe.each(['protobuf', 'json'] as const)('A mutated snapshot in %s', (format) => {
  it('is readable often enough to get to what comes after decoding, and not always', () => {
    const readable = mutants(format, 400).filter(isReadable).length;
    expect(readable).toBeGreaterThan(80);
    expect(readable).toBeLessThan(380);
  });

  it('never outgrows the largest case, however often it is mutated', () => {
    const random = new Random(seededRandom(5));
    let input = real.find((each) => each.format === format) ?? expect.fail('There is no seed.');
    for (let i = 0; i < 400; i++) input = mutate(input, input, random);
    expect(input.bytes.length).toBeLessThanOrEqual(MAX_CASE_BYTES);
  });

  it('is the same for the same seed of the choices', () => {
    expect(mutants(format, 50)).toEqual(mutants(format, 50));
  });
});
