import { describe, expect, it } from 'vitest';
import {
  CONTENT_RENEW_S,
  checkMembership,
  DEFAULT_MEMBERSHIP,
  LONGEST_COMMIT_MS,
  MembershipError,
  MIN_RETIRE_AFTER_MS,
} from '../../functions/core/membership.ts';
import { membershipFromEnvironment } from '../../functions/runtime/settings.ts';

const HOUR_MS = 3_600_000;

function refusal(omitAfterMs: number, retireAfterMs: number): string {
  try {
    checkMembership({ omitAfterMs, retireAfterMs });
  } catch (error) {
    if (error instanceof MembershipError) return error.message;
    throw error;
  }
  return 'accepted';
}

describe('Membership', () => {
  it('is 15 minutes of silence and a day of absence where nothing is said', () => {
    expect(checkMembership(DEFAULT_MEMBERSHIP)).toEqual({
      omitAfterMs: 900_000,
      retireAfterMs: 24 * HOUR_MS,
    });
  });

  it('leaves every commit time to end between an omission and the retirement', () => {
    expect(MIN_RETIRE_AFTER_MS).toBeGreaterThanOrEqual(4 * LONGEST_COMMIT_MS);
    expect(refusal(900_000, HOUR_MS)).toBe('accepted');
    expect(refusal(900_000, HOUR_MS - 1)).toBe(
      'retireAfter is 3599.999 s; it must be at least 3600 s. A push may be on its way for up to 900 s, and one that began ' +
        'before a cluster was omitted must have ended before it is retired, or it could bring back a lower counter.',
    );
  });

  it('ends long before a body could expire that no push has renewed', () => {
    expect(refusal((CONTENT_RENEW_S * 1_000) / 2, 24 * HOUR_MS)).toBe('accepted');
    expect(refusal(7 * HOUR_MS, 24 * HOUR_MS)).toBe(
      'omitAfter is 25200 s; it must be from 30 s, within which a push may still be on its way, to 21600 s, beyond which a ' +
        'cluster’s body could expire while it is in the map.'.replace('’', "'"),
    );
  });

  it('does not call a push silent that is on its way', () => {
    expect(refusal(30_000, HOUR_MS)).toBe('accepted');
    expect(refusal(29_999, HOUR_MS)).toMatch(/^omitAfter is 29\.999 s; it must be from 30 s/);
  });

  it.each([Number.NaN, -1, 0, Number.POSITIVE_INFINITY])('refuses %d for either', (ms) => {
    expect(refusal(ms, HOUR_MS)).toMatch(/^omitAfter is /);
    expect(refusal(900_000, ms)).toMatch(/^retireAfter is /);
  });

  it('comes in seconds from the environment', () => {
    expect(membershipFromEnvironment({ OMIT_AFTER_SECONDS: '60', RETIRE_AFTER_SECONDS: '7200' })).toEqual({
      omitAfterMs: 60_000,
      retireAfterMs: 2 * HOUR_MS,
    });
    expect(() =>
      membershipFromEnvironment({ OMIT_AFTER_SECONDS: '15m', RETIRE_AFTER_SECONDS: '7200' }),
    ).toThrow(
      'The environment variable OMIT_AFTER_SECONDS is "15m"; it must be a number of seconds without a fraction.',
    );
    expect(() => membershipFromEnvironment({ OMIT_AFTER_SECONDS: '60' })).toThrow(
      'The environment variable RETIRE_AFTER_SECONDS is not set; the deployed stack sets it.',
    );
  });
});
