/**
 * Judges the events of a cluster by its history: every change must be told, and every event
 * must say what was true.
 */
import type { BusEvent } from '../../../functions/local/event-bus.ts';

/** A state of a cluster, and what made it of the one before. States of one cluster differ in counter or state. */
export interface HistoryState {
  readonly counter: bigint;
  readonly state: 'INCLUDED' | 'OMITTED';
  readonly changes: readonly ('PUBLISHED' | 'REFRESHED' | 'OMITTED' | 'RETURNED')[];
  readonly contentSince: bigint;
  /** Of its one model. */
  readonly free: bigint;
  readonly reason?: string;
}

const UNKNOWN = 'UNSPECIFIED nothing';

/** What is wrong with the events of one cluster; empty where nothing is. */
export function judge(
  clusterId: string,
  history: readonly HistoryState[],
  events: readonly BusEvent[],
): readonly string[] {
  const positions = new Map(history.map(({ state, counter }, i) => [`${state} ${counter}`, i]));
  positions.set(UNKNOWN, -1);
  const faults: string[] = [];
  const reported = new Set<number>();
  for (const { 'detail-type': type, detail } of events) {
    const from = positions.get(keyOf(detail.previousState, detail.previousCounter));
    const to = positions.get(keyOf(detail.state, detail.logicalCounter));
    const last = to === undefined ? undefined : history[to];
    if (from === undefined || to === undefined || last === undefined || to <= from) {
      faults.push(
        `${clusterId}: ${type} between states that never followed each other: ${JSON.stringify(detail)}`,
      );
      continue;
    }
    const span = history.slice(from + 1, to + 1);
    for (let i = from + 1; i <= to; i++) reported.add(i);
    const expected = {
      changes: [...new Set(span.flatMap((s) => s.changes))].map((c) => `CLUSTER_CHANGE_KIND_${c}`),
      contentSinceCounter: String(last.contentSince),
      accelerators: [sums('before', history[from]), sums('after', last)],
      reason: span.findLast((s) => s.reason !== undefined)?.reason ?? reasonBefore(history[from], span),
    };
    const accelerators = (detail.accelerators as readonly Record<string, { free: string }>[])[0] ?? {};
    const actual = {
      changes: detail.changes,
      contentSinceCounter: detail.contentSinceCounter,
      accelerators: [accelerators.before?.free, accelerators.after?.free],
      reason: detail.reason,
    };
    if (JSON.stringify(actual) !== JSON.stringify(expected)) {
      faults.push(`${clusterId}: ${JSON.stringify(actual)} was told of ${JSON.stringify(expected)}`);
    }
  }
  history.forEach((state, i) => {
    if (!reported.has(i)) faults.push(`${clusterId}: ${state.changes} at ${state.counter} was not told`);
  });
  return faults;
}

function keyOf(state: unknown, counter: unknown): string {
  return `${String(state).replace('CLUSTER_STATE_', '')} ${counter ?? 'nothing'}`;
}

function sums(_: 'before' | 'after', state: HistoryState | undefined): string | undefined {
  return state?.state === 'INCLUDED' ? String(state.free) : undefined;
}

/** A return carries the reason of the omission that it ended. */
function reasonBefore(before: HistoryState | undefined, span: readonly HistoryState[]): string | undefined {
  return span[0]?.changes.includes('RETURNED') ? before?.reason : undefined;
}
