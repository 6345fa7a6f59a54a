import { describe, expect, it } from 'vitest';
import { checkSnapshot, type RuleContext } from '../../../../functions/core/snapshot/rules/index.ts';
import { CLUSTER_ID, NOW_MS, NOW_SECONDS, type SnapshotInit, snapshotOf } from '../builders.ts';

const context: RuleContext = { clusterId: CLUSTER_ID, nowMs: NOW_MS };

function findingsOf(init: SnapshotInit, overrides: Partial<RuleContext> = {}) {
  return checkSnapshot(snapshotOf(init), { ...context, ...overrides }).findings;
}

describe('cluster.cluster_id', () => {
  it.each([
    ['is absent with its message', {}],
    ['is empty', { cluster: { clusterId: '' } }],
  ])('is missing where it %s', (_, init) => {
    expect(findingsOf({ cluster: undefined, ...init })).toEqual([
      {
        code: 'missing_cluster_id',
        severity: 'reject',
        path: 'cluster.cluster_id',
        message: 'cluster.cluster_id is not set; set it to "c1", as in the URL',
      },
    ]);
  });

  it('is missing without a URL to take it from as well', () => {
    expect(findingsOf({ cluster: { clusterId: '' } }, { clusterId: undefined })[0]?.message).toBe(
      'cluster.cluster_id is not set; set it to the id under which the cluster is registered',
    );
  });

  it('must be the one in the URL', () => {
    expect(findingsOf({ cluster: { clusterId: 'C1' } })).toEqual([
      {
        code: 'cluster_id_mismatch',
        severity: 'reject',
        path: 'cluster.cluster_id',
        message: 'cluster.cluster_id is "C1", but the URL says "c1"; they must be equal',
      },
    ]);
  });

  it('is compared with nothing where there is no URL', () => {
    expect(findingsOf({ cluster: { clusterId: 'C1' } }, { clusterId: undefined })).toEqual([]);
  });

  it.each(['.', '..'])('cannot be %s, which a URL cannot carry', (clusterId) => {
    expect(findingsOf({ cluster: { clusterId } }, { clusterId })).toEqual([
      {
        code: 'invalid_id',
        severity: 'reject',
        path: 'cluster.cluster_id',
        message: `cluster.cluster_id is "${clusterId}", which the path of a URL cannot carry; choose another id`,
      },
    ]);
  });

  it('cannot be __proto__, which a JSON object cannot safely have as a key', () => {
    expect(findingsOf({ cluster: { clusterId: '__proto__' } }, { clusterId: '__proto__' })).toEqual([
      {
        code: 'invalid_id',
        severity: 'reject',
        path: 'cluster.cluster_id',
        message:
          'cluster.cluster_id is "__proto__", which a JSON object cannot safely have as a key; choose another id',
      },
    ]);
  });

  it.each([
    'arn:aws:eks:eu-west-1:123456789012:cluster/a b',
    '...',
    'constructor',
    '%2e%2e/../#',
    '\u200b',
    'é\u0301',
    'x'.repeat(253),
    '\u{1f9ea}'.repeat(63),
  ])('may be %j', (clusterId) => {
    expect(findingsOf({ cluster: { clusterId } }, { clusterId })).toEqual([]);
  });
});

describe('collected_at', () => {
  it('must be there', () => {
    expect(findingsOf({ collectedAt: undefined })).toEqual([
      {
        code: 'missing_collected_at',
        severity: 'reject',
        path: 'collected_at',
        message: 'collected_at is not set; set it to the time at which the agent looked at the cluster',
      },
    ]);
  });

  it.each([
    [{ seconds: -62_135_596_801n }, '-62135596801 s and 0 ns'],
    [{ seconds: 253_402_300_800n }, '253402300800 s and 0 ns'],
    [{ nanos: -1 }, '0 s and -1 ns'],
    [{ nanos: 1_000_000_000 }, '0 s and 1000000000 ns'],
  ])('must be a valid Timestamp, which %o is not', (collectedAt, value) => {
    expect(findingsOf({ collectedAt })).toEqual([
      {
        code: 'invalid_timestamp',
        severity: 'reject',
        path: 'collected_at',
        message: `collected_at is ${value} since 1970; its seconds must lie in the years 1 to 9999, and its nanos be from 0 to 999999999`,
      },
    ]);
  });

  it.each([{ seconds: -62_135_596_800n }, { seconds: 0n }, { seconds: NOW_SECONDS, nanos: 999_999_999 }])(
    'may be %o',
    (collectedAt) => {
      expect(findingsOf({ collectedAt })).toEqual([]);
    },
  );

  it('may be 5 minutes ahead of the service’s clock, and not a nanosecond more', () => {
    expect(findingsOf({ collectedAt: { seconds: NOW_SECONDS + 300n } })).toEqual([]);
    expect(findingsOf({ collectedAt: { seconds: NOW_SECONDS + 300n, nanos: 1 } })).toEqual([
      {
        code: 'collected_in_future',
        severity: 'reject',
        path: 'collected_at',
        message:
          'collected_at is 2026-01-01T00:05:00.000000001Z, 300.000000001 s ahead of the service’s clock; at most 300 s are allowed: set the agent’s clock right',
      },
    ]);
  });

  it('may be as far ahead as is configured', () => {
    const collectedAt = { seconds: NOW_SECONDS + 301n };
    expect(findingsOf({ collectedAt }, { maxFutureSkewMs: 301_000 })).toEqual([]);
    expect(findingsOf({ collectedAt }, { maxFutureSkewMs: 300_999 }).map((f) => f.code)).toEqual([
      'collected_in_future',
    ]);
  });
});

describe('logical_counter', () => {
  it('must be set', () => {
    expect(findingsOf({ logicalCounter: 0n })).toEqual([
      {
        code: 'missing_counter',
        severity: 'reject',
        path: 'logical_counter',
        message: 'logical_counter is 0, which is unset; start at 1 and raise it for every push',
      },
    ]);
  });

  it('must leave a next one', () => {
    expect(findingsOf({ logicalCounter: 2n ** 64n - 1n })).toEqual([
      {
        code: 'counter_exhausted',
        severity: 'reject',
        path: 'logical_counter',
        message:
          'logical_counter is 18446744073709551615, after which there is no next one; the highest is 18446744073709551614',
      },
    ]);
    expect(findingsOf({ logicalCounter: 2n ** 64n - 2n })).toEqual([]);
  });
});

it('reports what is missing all at once, in the order of the fields', () => {
  const nothing = { cluster: undefined, collectedAt: undefined, logicalCounter: 0n };
  expect(findingsOf(nothing).map((f) => f.code)).toEqual([
    'missing_cluster_id',
    'missing_collected_at',
    'missing_counter',
  ]);
});
