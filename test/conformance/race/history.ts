/**
 * What happened in a race, and whether it may have: every process writes down what it asked
 * and what it was told, with the times of a clock that all processes of a machine share, and
 * the check judges the whole afterwards.
 */
import { contentAt, type Group } from './plan.ts';

/** What a push was answered with. */
export type PushResult =
  | 'PUSH_OUTCOME_PUBLISHED'
  | 'PUSH_OUTCOME_REFRESHED'
  | 'PUSH_OUTCOME_ALREADY_PUBLISHED'
  | 'counter_regressed'
  | 'counter_reused'
  | 'contention';

/** One line of a process. Counters are strings and times nanoseconds, since JSON has no bigint. */
export type Line =
  /** Written before the push is sent: a killed process leaves it alone. */
  | { readonly kind: 'pushing'; readonly counter: string; readonly group: Group }
  | ({
      readonly kind: 'pushed';
      readonly counter: string;
      readonly group: Group;
      readonly response: PushResult;
      /** Absent where the response does not tell. */
      readonly mark?: string;
    } & Span)
  /** Of map, snapshot or clock; no counter: the cluster was not in it. */
  | ({
      readonly kind: 'read';
      readonly what: 'map' | 'snapshot' | 'clock';
      readonly counter?: string;
      readonly group?: Group;
    } & Span)
  | ({ readonly kind: 'status'; readonly mark: string; readonly since: string; readonly group: Group } & Span)
  | ({ readonly kind: 'omitted'; readonly mark: string } & Span)
  /** Something that can never be right, seen by the process itself. */
  | { readonly kind: 'fault'; readonly message: string };

/** When the request was sent and when the response was there. */
interface Span {
  readonly from: string;
  readonly to: string;
}

/** Everything in a history that breaks a guarantee; empty is good. */
export function faultsOf(lines: readonly Line[]): string[] {
  return [
    ...lines.flatMap((line) => (line.kind === 'fault' ? [line.message] : [])),
    ...countersThatWentBack(lines),
    ...answersThatCannotBe(lines),
    ...groupsThatMix(lines),
    ...outcomesThatCannotBe(lines),
  ];
}

/** The highest counter that any push was told to be accepted at. */
export function highestAcknowledged(lines: readonly Line[]): bigint {
  return lines.reduce(
    (highest, line) =>
      isAcknowledged(line) && BigInt(line.counter) > highest ? BigInt(line.counter) : highest,
    0n,
  );
}

export function isAcknowledged(line: Line): line is Extract<Line, { kind: 'pushed' }> {
  return line.kind === 'pushed' && line.response.startsWith('PUSH_OUTCOME_');
}

/** Guarantee 1: who asks after a response was there is told no lower counter than that response had. */
function countersThatWentBack(lines: readonly Line[]): string[] {
  const reported = lines.flatMap((line) => {
    const counter = reportedCounter(line);
    return counter === undefined || !('from' in line)
      ? []
      : [{ counter, from: BigInt(line.from), to: BigInt(line.to), line }];
  });
  const byEnd = [...reported].sort((a, b) => (a.to < b.to ? -1 : 1));
  const faults: string[] = [];
  let seen = byEnd[0];
  let next = 0;
  for (const later of [...reported].sort((a, b) => (a.from < b.from ? -1 : 1))) {
    for (let ended = byEnd[next]; ended !== undefined && ended.to < later.from; ended = byEnd[++next]) {
      if (seen === undefined || ended.counter > seen.counter) seen = ended;
    }
    if (seen !== undefined && seen.to < later.from && later.counter < seen.counter) {
      faults.push(`Counter went back: ${JSON.stringify(later.line)} after ${JSON.stringify(seen.line)}`);
    }
  }
  return faults;
}

function reportedCounter(line: Line): bigint | undefined {
  switch (line.kind) {
    case 'pushed':
    case 'status':
    case 'omitted':
      return line.mark === undefined ? undefined : BigInt(line.mark);
    case 'read':
      return line.counter === undefined ? undefined : BigInt(line.counter);
    default:
      return undefined;
  }
}

/** An accepted counter is the mark, a regressed one is below it and a reused one at it. */
function answersThatCannotBe(lines: readonly Line[]): string[] {
  return lines.flatMap((line) => {
    if (line.kind !== 'pushed' || line.mark === undefined) return [];
    const [counter, mark] = [BigInt(line.counter), BigInt(line.mark)];
    const fits = line.response === 'counter_regressed' ? counter < mark : counter === mark;
    return fits ? [] : [`Answer that cannot be: ${JSON.stringify(line)}`];
  });
}

/** At one counter one push was accepted, which all readers saw, and content is as old as it is said to be. */
function groupsThatMix(lines: readonly Line[]): string[] {
  const faults: string[] = [];
  const accepted = new Map<bigint, Group>();
  const claim = (counter: bigint, group: Group, line: Line): void => {
    if ((accepted.get(counter) ?? group) !== group)
      faults.push(`Two pushes at one counter: ${JSON.stringify(line)}`);
    accepted.set(counter, group);
  };
  for (const line of lines) {
    if (isAcknowledged(line)) claim(BigInt(line.counter), line.group, line);
    if (line.kind === 'status') claim(BigInt(line.mark), line.group, line);
    if (line.kind === 'read' && line.counter !== undefined && line.group !== undefined) {
      claim(BigInt(line.counter), line.group, line);
    }
  }
  for (const line of lines) {
    if (line.kind !== 'status') continue;
    for (let counter = BigInt(line.since); counter <= BigInt(line.mark); counter++) {
      const group = accepted.get(counter);
      if (group !== undefined && contentAt(counter, group) !== contentAt(BigInt(line.mark), line.group)) {
        faults.push(`Content is younger than it says, since ${counter} said other: ${JSON.stringify(line)}`);
      }
    }
  }
  return faults;
}

/**
 * New content is PUBLISHED and standing content REFRESHED, judged by the push that was accepted
 * before. With a writer that refreshes what it read while another published in between, this
 * is what breaks first.
 */
function outcomesThatCannotBe(lines: readonly Line[]): string[] {
  const said = new Map<bigint, string>();
  const published = new Set<bigint>();
  for (const line of lines.filter(isAcknowledged)) {
    said.set(BigInt(line.counter), contentAt(BigInt(line.counter), line.group));
    if (line.response === 'PUSH_OUTCOME_PUBLISHED') published.add(BigInt(line.counter));
  }
  const accepted = [...said.keys()].sort((a, b) => (a < b ? -1 : 1));
  // What a killed process had sent may have been accepted without anybody knowing.
  const unknown = unanswered(lines);
  return lines.filter(isAcknowledged).flatMap((line) => {
    const counter = BigInt(line.counter);
    const before = accepted[accepted.indexOf(counter) - 1];
    if (before === undefined || unknown.some((u) => u > before && u <= counter)) return [];
    const isNew = said.get(before) !== said.get(counter);
    const fits =
      line.response === 'PUSH_OUTCOME_PUBLISHED'
        ? isNew
        : line.response === 'PUSH_OUTCOME_ALREADY_PUBLISHED' ||
          // Out of the map and back at its own counter it is refreshed, whatever it was at first.
          !isNew ||
          published.has(counter);
    return fits ? [] : [`Outcome that cannot be, after ${before}: ${JSON.stringify(line)}`];
  });
}

/** Counters that were sent and not answered. */
function unanswered(lines: readonly Line[]): bigint[] {
  const left = new Map<string, number>();
  for (const line of lines) {
    if (line.kind !== 'pushing' && line.kind !== 'pushed') continue;
    left.set(line.counter, (left.get(line.counter) ?? 0) + (line.kind === 'pushing' ? 1 : -1));
  }
  return [...left].flatMap(([counter, open]) => (open > 0 ? [BigInt(counter)] : []));
}
