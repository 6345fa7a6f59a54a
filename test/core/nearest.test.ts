import { describe, expect, it } from 'vitest';
import { didYouMean, nearestOf } from '../../functions/core/nearest.ts';

describe('The nearest name', () => {
  const FIELDS = ['workloadKind', 'jobs', 'logicalCounter', 'topology'];

  it.each([
    ['jbos', 'jobs'],
    ['job', 'jobs'],
    ['logicalCouter', 'logicalCounter'],
    ['logical_counter', 'logicalCounter'],
    ['x'.repeat(100_000), undefined],
    ['coLocateWith', undefined],
    ['__proto__', undefined],
    ['', undefined],
  ])('to %j is %j', (name, nearest) => {
    expect(nearestOf(name, FIELDS)).toBe(nearest);
  });

  it('is none of no names', () => {
    expect(nearestOf('a', [])).toBeUndefined();
  });

  it('ends a sentence, which gives another remedy if nothing is near', () => {
    expect(didYouMean('job', FIELDS, 'leave it out')).toBe('; did you mean "jobs"?');
    expect(didYouMean('coLocateWith', FIELDS, 'leave it out')).toBe('; leave it out.');
  });
});
