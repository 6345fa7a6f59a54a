import { describe, expect, it } from 'vitest';
import { identityOf } from '../../../../functions/core/snapshot/identity.ts';
import {
  checkSuccession,
  type PreviousSnapshot,
  type RuleContext,
} from '../../../../functions/core/snapshot/rules/index.ts';
import { CLUSTER_ID, NOW_MS, NOW_SECONDS, type SnapshotInit, snapshotOf } from '../builders.ts';

const HIGH_WATER = 7n;
const NOWHERE = { provider: '', region: '', site: '' };

function succession(
  init: SnapshotInit,
  previous: Partial<PreviousSnapshot> = {},
  context: Partial<RuleContext> = {},
) {
  return checkSuccession(
    snapshotOf({ logicalCounter: HIGH_WATER + 1n, ...init }),
    { clusterId: CLUSTER_ID, nowMs: NOW_MS, ...context },
    {
      highWater: HIGH_WATER,
      collectedAtNanos: NOW_SECONDS * 1_000_000_000n,
      identity: NOWHERE,
      ...previous,
    },
  );
}

it('finds nothing in a snapshot that follows the last one', () => {
  expect(succession({})).toEqual({ findings: [], omitted: 0, rejects: 0, warnings: 0 });
});

describe('the counter', () => {
  it('may rise by 2^53 and not by more', () => {
    expect(succession({ logicalCounter: HIGH_WATER + 2n ** 53n }).findings).toEqual([]);
    expect(succession({ logicalCounter: HIGH_WATER + 2n ** 53n + 1n })).toMatchObject({
      findings: [
        {
          code: 'counter_jump',
          severity: 'reject',
          path: 'logical_counter',
          message:
            'logical_counter is 9007199254741000, 9007199254740993 above the high-water mark 7; at most 9007199254740992 are allowed: go on at 8, or push with allow_jump=true if it is meant',
        },
      ],
      rejects: 1,
      warnings: 0,
    });
  });

  it('of a new cluster may be 2^53 and not more', () => {
    const first = { highWater: 0n, collectedAtNanos: undefined, identity: undefined };
    expect(succession({ logicalCounter: 2n ** 53n }, first).findings).toEqual([]);
    expect(succession({ logicalCounter: 1_767_225_600_000_000_000n }, first)).toMatchObject({
      findings: [
        {
          code: 'counter_jump',
          severity: 'reject',
          message:
            'logical_counter is 1767225600000000000, and the first counter of a cluster is at most 9007199254740992: ' +
            'start at 1 or at the time in milliseconds (not nanoseconds), or push with allow_jump=true if it is meant',
        },
      ],
    });
  });

  it('may jump where the push says that it is meant', () => {
    expect(succession({ logicalCounter: 2n ** 64n - 2n }, {}, { allowJump: true }).findings).toEqual([]);
  });
});

describe('collected_at', () => {
  it('draws a warning where it is a nanosecond older than the last one', () => {
    expect(succession({ collectedAt: { seconds: NOW_SECONDS - 1n, nanos: 999_999_999 } })).toMatchObject({
      findings: [
        {
          code: 'collected_at_regressed',
          severity: 'warn',
          path: 'collected_at',
          message:
            'collected_at is 2025-12-31T23:59:59.999999999Z, older than the last accepted snapshot’s 2026-01-01T00:00:00Z, though logical_counter rose; check the agent’s clock, and that only one agent pushes',
        },
      ],
      rejects: 0,
      warnings: 1,
    });
  });

  it('may stand still', () => {
    expect(succession({ collectedAt: { seconds: NOW_SECONDS } }).findings).toEqual([]);
  });

  it('says nothing where it is missing, which is a finding of the snapshot alone', () => {
    expect(succession({ collectedAt: undefined }).findings).toEqual([]);
  });

  it.each([-(10n ** 21n), -1n])('is named even where it is no valid time (%s s)', (seconds) => {
    const { findings } = succession({ collectedAt: { seconds, nanos: -1 } });
    expect(findings[0]?.message).toContain(
      seconds === -1n ? 'collected_at is 1969-12-31T23:59:58.999999999Z' : 'ns since 1970',
    );
  });
});

describe('the identity', () => {
  it.each(['provider', 'region', 'site'] as const)('draws a warning where its %s differs', (field) => {
    expect(
      succession(
        { cluster: { clusterId: CLUSTER_ID, [field]: 'new' } },
        { identity: { ...NOWHERE, [field]: 'old' } },
      ),
    ).toMatchObject({
      findings: [
        {
          code: 'identity_changed',
          severity: 'warn',
          path: `cluster.${field}`,
          message: `${field} is "new", and was "old" in the last accepted snapshot; a cluster that moved should get a new id`,
        },
      ],
      warnings: 1,
    });
  });

  it('may change its display name', () => {
    expect(succession({ cluster: { clusterId: CLUSTER_ID, displayName: 'new' } }).findings).toEqual([]);
  });
});

it('says nothing of an identity that is not known any more', () => {
  const cluster = { clusterId: CLUSTER_ID, region: 'eu' };
  expect(succession({ cluster }, { identity: undefined }).findings).toEqual([]);
});

it('compares what is kept of a long name', () => {
  const region = 'é'.repeat(200);
  const kept = identityOf(snapshotOf({ cluster: { region } }));
  expect(kept.region).toBe('é'.repeat(126));
  expect(succession({ cluster: { clusterId: CLUSTER_ID, region } }, { identity: kept }).findings).toEqual([]);
});

it('leaves a counter that did not rise to the commit', () => {
  const older = { collectedAt: { seconds: 0n }, cluster: { clusterId: CLUSTER_ID, region: 'elsewhere' } };
  expect(succession({ ...older, logicalCounter: HIGH_WATER }).findings).toEqual([]);
  expect(succession({ ...older, logicalCounter: HIGH_WATER - 1n }).findings).toEqual([]);
});

it('refuses what it would warn of where the push is strict', () => {
  const older = { collectedAt: { seconds: 0n } };
  expect(succession(older, {}, { strict: true })).toMatchObject({ rejects: 1, warnings: 0 });
});

it('reports in the order of the fields', () => {
  const { findings } = succession({
    cluster: { clusterId: CLUSTER_ID, provider: 'x', region: 'x', site: 'x' },
    collectedAt: { seconds: 0n },
    logicalCounter: 2n ** 60n,
  });
  expect(findings.map((f) => f.path)).toEqual([
    'cluster.provider',
    'cluster.region',
    'cluster.site',
    'collected_at',
    'logical_counter',
  ]);
});
