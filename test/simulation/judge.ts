/**
 * Judges a history against what the service promises (docs/architecture.md), knowing nothing of
 * how it is built. A cluster's counter is a register whose values only rise and are never reused, so
 * its linearizability comes down to three questions, asked in real time: was a value read that
 * nobody wrote, was one read that is below one read or acknowledged before, and did two contents
 * have one counter?
 */
import type { Entry, PushAttempt, Seen, Span } from './history.ts';

/** What is wrong with the history; empty is good. */
export function faultsOf(history: readonly Entry[]): string[] {
  return [
    ...history.flatMap((entry) => (entry.kind === 'fault' ? [`${entry.atMs} ms: ${entry.message}`] : [])),
    ...countersThatWentBack(history),
    ...contentsThatMix(history),
    ...marksNobodyPushed(history),
    ...mapsThatDisagree(history),
  ];
}

interface Reported extends Span {
  readonly clusterId: string;
  readonly counter: bigint;
  readonly what: string;
}

/** Every counter that a response gave as accepted, whatever the response was to. */
function reported(history: readonly Entry[]): Reported[] {
  return history.flatMap((entry): Reported[] => {
    switch (entry.kind) {
      case 'push acknowledged':
      case 'push conflicted':
      case 'omit acknowledged':
        return [
          { ...span(entry), clusterId: entry.clusterId, counter: entry.highWaterMark, what: entry.kind },
        ];
      case 'seen':
        return [{ ...span(entry), clusterId: entry.clusterId, counter: entry.counter, what: entry.kind }];
      default:
        return [];
    }
  });
}

function span({ fromMs, toMs, by }: Span): Span {
  return { fromMs, toMs, by };
}

/** Whoever asks after a response was there is given no lower counter than that response had. */
function countersThatWentBack(history: readonly Entry[]): string[] {
  const faults: string[] = [];
  for (const all of groupBy(reported(history), ({ clusterId }) => clusterId).values()) {
    const byEnd = [...all].sort((a, b) => a.toMs - b.toMs);
    let next = 0;
    let highest: Reported | undefined;
    for (const later of [...all].sort((a, b) => a.fromMs - b.fromMs)) {
      for (let ended = byEnd[next]; ended !== undefined && ended.toMs < later.fromMs; ended = byEnd[++next])
        if (highest === undefined || ended.counter > highest.counter) highest = ended;
      if (highest !== undefined && later.counter < highest.counter)
        faults.push(
          `The counter of ${later.clusterId} went back: ${later.by} was given ${later.counter} (${later.what}, ` +
            `asked at ${later.fromMs.toFixed(0)} ms) after ${highest.by} had been given ${highest.counter} ` +
            `(${highest.what}, at ${highest.toMs.toFixed(0)} ms).`,
        );
    }
  }
  return faults;
}

/** Content, counter and time are those of one push, and each counter has one of them. */
function contentsThatMix(history: readonly Entry[]): string[] {
  const faults: string[] = [];
  const attempts = groupBy(
    history.filter((entry): entry is PushAttempt => entry.kind === 'push attempt'),
    key,
  );
  const accepted = new Map<string, number>();
  const seen = history.filter(
    (entry): entry is Seen & { variant: number } => entry.kind === 'seen' && entry.variant !== undefined,
  );
  const acknowledged = history.filter((entry) => entry.kind === 'push acknowledged');
  for (const entry of [...acknowledged, ...seen]) {
    const pushed = attempts.get(key(entry)) ?? [];
    const time = entry.kind === 'seen' ? entry.collectedAtMs : undefined;
    const fits = pushed.some(
      (attempt) =>
        attempt.variant === entry.variant && (time === undefined || attempt.collectedAtMs === time),
    );
    if (!fits)
      faults.push(
        `${entry.clusterId} at ${entry.counter} has content ${entry.variant}, which nobody pushed so.`,
      );
    const before = accepted.get(key(entry));
    if (before !== undefined && before !== entry.variant)
      faults.push(
        `${entry.clusterId} at ${entry.counter} has content ${before} and content ${entry.variant}.`,
      );
    accepted.set(key(entry), entry.variant);
  }
  return faults;
}

function marksNobodyPushed(history: readonly Entry[]): string[] {
  const pushed = new Set(history.flatMap((entry) => (entry.kind === 'push attempt' ? [key(entry)] : [])));
  const floors = new Set(history.flatMap((entry) => (entry.kind === 'floor set' ? [entry.counter] : [])));
  return reported(history).flatMap((each) =>
    // 0: nothing was accepted so far.
    each.counter === 0n || floors.has(each.counter) || pushed.has(key(each))
      ? []
      : [`${each.clusterId} was reported at ${each.counter}, which nobody pushed.`],
  );
}

function mapsThatDisagree(history: readonly Entry[]): string[] {
  return history.flatMap((entry) =>
    entry.kind === 'map seen' && String(entry.clusterIds) !== String(entry.clockIds)
      ? [`The map has ${entry.clusterIds} and its clock ${entry.clockIds}.`]
      : [],
  );
}

function key({ clusterId, counter }: { readonly clusterId: string; readonly counter: bigint }): string {
  return `${clusterId} ${counter}`;
}

function groupBy<T>(values: readonly T[], keyOf: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const group = groups.get(keyOf(value));
    if (group === undefined) groups.set(keyOf(value), [value]);
    else group.push(value);
  }
  return groups;
}
