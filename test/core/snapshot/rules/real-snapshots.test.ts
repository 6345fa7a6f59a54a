import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeSnapshot } from '../../../../functions/core/snapshot/decode.ts';
import { identityOf } from '../../../../functions/core/snapshot/identity.ts';
import {
  capacityFacts,
  checkNodeTypeSuccession,
  checkSnapshot,
  checkSuccession,
} from '../../../../functions/core/snapshot/rules/index.ts';
import { nanosOf } from '../../../../functions/core/timestamp.ts';

const DATA = new URL('../../../data/snapshots/', import.meta.url);
/** After the last of them was collected. */
const NOW_MS = Date.UTC(2026, 11, 31);

/** How often each warning is right to be given; a family that is not listed has none. */
const WARNINGS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  // The control plane and the CPU nodes: nobody recorded how they are paid for.
  'kops-l4-t0': { unspecified_purchase_model: 2 },
  'kops-l4-t1': { unspecified_purchase_model: 2 },
  'kops-l4-t2': { unspecified_purchase_model: 2 },
  'kops-l4-t3': { unspecified_purchase_model: 2 },
  'kops-l4-t4': { unspecified_purchase_model: 2 },
  'upcloud-l40s-t0': { unspecified_purchase_model: 1 },
  // Pods of the trace that are neither latency-sensitive nor best-effort.
  'openb-instant-t0': { unspecified_workload_kind: 1 },
  'openb-instant-t1': { unspecified_workload_kind: 4 },
  'openb-instant-t2': { unspecified_workload_kind: 7 },
};

const names = readdirSync(DATA)
  .map((file) => file.replace('.json', ''))
  .sort();

function read(name: string) {
  return decodeSnapshot(readFileSync(new URL(`${name}.json`, DATA)), 'json');
}

function familyOf(name: string): string {
  return name.replace(/-t\d+$/, '');
}

it('there are five families', () => {
  expect([...new Set(names.map(familyOf))]).toEqual([
    'aicr-eks-h100',
    'kops-l4',
    'openb-instant',
    'upcloud-l40s',
    'viettel-l40s',
  ]);
});

describe.each(names)('%s', (name) => {
  it('is accepted, with the warnings that are right', () => {
    const snapshot = read(name);
    const { findings, rejects } = checkSnapshot(snapshot, {
      clusterId: snapshot.cluster?.clusterId,
      nowMs: NOW_MS,
    });
    const counts: Record<string, number> = {};
    for (const { code } of findings) counts[code] = (counts[code] ?? 0) + 1;
    expect({ rejects, counts }).toEqual({ rejects: 0, counts: WARNINGS[name] ?? {} });
  });

  it('follows the one before it', () => {
    const before = names[names.indexOf(name) - 1];
    if (before === undefined || familyOf(before) !== familyOf(name)) return;
    const [previous, next] = [read(before), read(name)];
    const context = { nowMs: NOW_MS };
    const { collectedAt } = previous;
    if (collectedAt === undefined) throw new Error(`${before} is incomplete.`);
    const head = {
      highWater: previous.logicalCounter,
      collectedAtNanos: nanosOf(collectedAt),
      identity: identityOf(previous),
    };
    expect(checkSuccession(next, context, head).findings).toEqual([]);
    expect(checkNodeTypeSuccession(capacityFacts(previous), capacityFacts(next), context).findings).toEqual(
      [],
    );
  });
});
