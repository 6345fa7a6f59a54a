/**
 * The protocol on a model small enough to explore whole: one cluster, schedulers with one claim each, their
 * deployers, an agent, a sweeper, and clocks that differ. Any step may come at any time, pushes may be late, lost,
 * reordered or repeated, and whoever stops for ever is one of whom no further step is taken.
 *
 * The model is written from the protocol and shares no code with the service.
 */

/** The rules of the protocol; each can be left out. */
export interface Rules {
  /** The ledger is read before the head. */
  readonly ledgerFirst: boolean;
  /** A write asks for the version that was read. */
  readonly conditionalWrite: boolean;
  /**
   * What ends a confirmed claim that is past its time: a cut that began late enough by the service's own time that
   * the agent had before; a push received late enough; or time alone.
   */
  readonly evidence: 'observed' | 'received' | 'time';
  /** An acceptance records as ended what it did not count. */
  readonly recordEnds: boolean;
  /** Confirming judges whether the claim is effective; otherwise it is enough that the ledger has it. */
  readonly judgeConfirm: boolean;
  /** Nothing is started without a confirmation, nor after its time. */
  readonly startConfirmed: boolean;
  /** A confirmed claim lives on while its node is missing from the snapshot. */
  readonly neverBreaks: boolean;
  /** Releasing a confirmed claim leaves its time as it is. */
  readonly releaseKeepsTime: boolean;
}

export const ALL_RULES: Rules = {
  ledgerFirst: true,
  conditionalWrite: true,
  evidence: 'observed',
  recordEnds: true,
  judgeConfirm: true,
  startConfirmed: true,
  neverBreaks: true,
  releaseKeepsTime: true,
};

export interface ModelSize {
  readonly schedulers: number;
  readonly slots: number;
  /** Time ends here. */
  readonly lastTime: number;
  /** Time units that a held and a confirmed claim live. */
  readonly heldTtl: number;
  readonly confirmedTtl: number;
  /** By which each scheduler's function, the sweeper's, and the one that responds to the agent are ahead. */
  readonly clocks: {
    readonly schedulers: readonly number[];
    readonly sweeper: number;
    readonly agent: number;
  };
  /** The largest difference of two of these. */
  readonly skew: number;
  /** Time units for which a job may be missing from a cut after its start. */
  readonly visibility: number;
  /** Cuts on their way at a time. */
  readonly cutsUnderWay: number;
  /** Whether a node may be missing from a cut, a claim be released, and a job end. */
  readonly nodesBlink?: boolean;
  readonly releases?: boolean;
  readonly jobsEnd?: boolean;
}

interface Hold {
  readonly owner: number;
  readonly confirmed: boolean;
  readonly expires: number;
}

/** Cuts on their way are in the order of their counters, and one that is overtaken is as good as lost. */
interface Cut {
  /** The service's time that the agent had before it began. */
  readonly observed: number;
  readonly jobs: readonly number[];
  readonly slots: number;
}

interface Head extends Cut {
  readonly received: number;
}

interface Ledger {
  readonly version: number;
  readonly holds: readonly Hold[];
}

/** A scheduler between two steps: what it wants, since when, and what it has read. */
interface Scheduler {
  readonly at: 'idle' | 'reading' | 'read' | 'held' | 'confirming' | 'judging' | 'confirmed' | 'done';
  /** Of the request under way, by the only clock that its owner needs. */
  readonly since: number;
  /** Until when its deployer may start. */
  readonly deadline: number;
  readonly ledger?: Ledger | undefined;
  readonly head?: Head | undefined;
}

interface Job {
  readonly owner: number;
  readonly started: number;
}

interface State {
  readonly time: number;
  readonly ledger: Ledger;
  readonly head: Head;
  readonly cuts: readonly Cut[];
  readonly jobs: readonly Job[];
  readonly schedulers: readonly Scheduler[];
  /** Of the sweeper, once it has read. */
  readonly sweeper?: { readonly ledger: Ledger; readonly head: Head } | undefined;
}

export interface Exploration {
  readonly states: number;
  /** The shortest way to more jobs than slots; absent: there is none. */
  readonly counterExample: readonly string[] | undefined;
}

/** States of which none is forgotten; a model with more is too large for a test. */
const MAX_STATES = 1_500_000;

/** Visits every state that can be reached, in order of their distance. */
export function explore(size: ModelSize, rules: Rules): Exploration {
  const first = initial(size);
  const seen = new Map<string, { readonly before: string; readonly step: string }>();
  const firstKey = JSON.stringify(first);
  seen.set(firstKey, { before: '', step: '' });
  let frontier: [string, State][] = [[firstKey, first]];
  while (frontier.length > 0) {
    const next: [string, State][] = [];
    for (const [before, state] of frontier) {
      for (const [step, after] of steps(state, size, rules)) {
        const key = JSON.stringify(after);
        if (seen.has(key)) continue;
        seen.set(key, { before, step });
        if (after.jobs.length > size.slots) return { states: seen.size, counterExample: wayTo(key, seen) };
        next.push([key, after]);
      }
    }
    if (seen.size > MAX_STATES) throw new Error(`The model has more than ${MAX_STATES} states.`);
    frontier = next;
  }
  return { states: seen.size, counterExample: undefined };
}

function wayTo(
  key: string,
  seen: ReadonlyMap<string, { readonly before: string; readonly step: string }>,
): string[] {
  const way: string[] = [];
  for (let at = seen.get(key); at !== undefined && at.step !== ''; at = seen.get(at.before))
    way.unshift(at.step);
  return way;
}

function initial({ schedulers, slots }: ModelSize): State {
  return {
    time: 0,
    ledger: { version: 0, holds: [] },
    head: { observed: 0, received: 0, jobs: [], slots },
    cuts: [],
    jobs: [],
    schedulers: Array.from({ length: schedulers }, () => ({ at: 'idle', since: 0, deadline: 0 })),
  };
}

type Step = readonly [string, State];

function* steps(state: State, size: ModelSize, rules: Rules): Generator<Step> {
  if (state.time < size.lastTime) yield ['time passes', { ...state, time: state.time + 1 }];
  for (const owner of state.schedulers.keys()) yield* schedulerSteps(state, owner, size, rules);
  yield* agentSteps(state, size, rules);
  yield* sweeperSteps(state, size, rules);
  if (size.jobsEnd !== true) return;
  for (const job of state.jobs) {
    yield [`job ${job.owner} ends`, { ...state, jobs: state.jobs.filter((other) => other !== job) }];
  }
}

function* agentSteps(state: State, size: ModelSize, rules: Rules): Generator<Step> {
  const { time, cuts, jobs, head } = state;
  if (cuts.length < size.cutsUnderWay) {
    const observed = time + size.clocks.agent;
    // What an earlier cut showed stays in sight while it lives: an agent's watch does not go back.
    const inSight = (cuts.at(-1) ?? head).jobs;
    const young = jobs.filter(
      ({ owner, started }) => time < started + size.visibility && !inSight.includes(owner),
    );
    const sure = jobs.filter((job) => !young.includes(job));
    for (const shown of young.length > 0 ? [sure, jobs] : [jobs]) {
      for (const slots of size.nodesBlink === true ? [size.slots, 0] : [size.slots]) {
        const cut = { observed, jobs: shown.map(({ owner }) => owner).sort(), slots };
        // One that says the same as the newest would change nothing.
        if (JSON.stringify(cut) === JSON.stringify(cuts.at(-1) ?? { ...head, received: undefined })) continue;
        yield [`a cut at ${time} shows jobs [${cut.jobs}] on ${slots}`, { ...state, cuts: [...cuts, cut] }];
      }
    }
  }
  for (const [index, cut] of cuts.entries()) {
    yield [
      `the push of the cut at ${cut.observed - size.clocks.agent} arrives`,
      { ...state, cuts: cuts.slice(index + 1), head: { ...cut, received: receivedAt(time, rules) } },
    ];
  }
  // A repeat of the last push: it moves the received time, with no new cut.
  if (rules.evidence === 'received' && head.received < time) {
    yield ['the last push is repeated', { ...state, head: { ...head, received: time } }];
  }
}

/** Only one wrong rule reads it; kept still otherwise, so that states do not differ by it. */
function receivedAt(time: number, rules: Rules): number {
  return rules.evidence === 'received' ? time : 0;
}

function* sweeperSteps(state: State, size: ModelSize, rules: Rules): Generator<Step> {
  const { ledger, head, sweeper, time } = state;
  if (sweeper === undefined) {
    // Which of the two comes first matters to schedulers; the sweeper reads both at once.
    if (ledger.holds.length > 0) yield ['sweeper reads', { ...state, sweeper: { ledger, head } }];
    return;
  }
  const now = time + size.clocks.sweeper;
  const holds = sweeper.ledger.holds.filter((hold) => isEffective(hold, sweeper.head, now, size, rules));
  const changed = holds.length !== sweeper.ledger.holds.length;
  const wins = !rules.conditionalWrite || ledger.version === sweeper.ledger.version;
  yield [
    `sweeper writes down ${sweeper.ledger.holds.length - holds.length} ends${wins ? '' : ', and loses'}`,
    {
      ...state,
      sweeper: undefined,
      ledger: changed && wins ? { version: ledger.version + 1, holds } : ledger,
    },
  ];
}

function isEffective(hold: Hold, head: Head, now: number, size: ModelSize, rules: Rules): boolean {
  if (head.jobs.includes(hold.owner)) return false;
  if (!rules.neverBreaks && head.slots === 0) return false;
  if (now < hold.expires) return true;
  if (!hold.confirmed) return false;
  if (rules.evidence === 'time') return false;
  const margin = 2 * size.skew + size.visibility;
  return (rules.evidence === 'observed' ? head.observed : head.received) < hold.expires + margin;
}

function* schedulerSteps(state: State, owner: number, size: ModelSize, rules: Rules): Generator<Step> {
  const self = state.schedulers[owner];
  if (self === undefined) return;
  const { time, ledger, head } = state;
  const now = time + (size.clocks.schedulers[owner] ?? 0);
  const to = (next: Partial<Scheduler>, rest: Partial<State> = {}): State => ({
    ...state,
    ...rest,
    schedulers: state.schedulers.with(owner, { ...self, ...next }),
  });
  const reading = rules.ledgerFirst ? { ledger } : { head };
  const alsoReading = rules.ledgerFirst ? { head } : { ledger };
  const [one, other] = rules.ledgerFirst ? ['ledger', 'head'] : ['head', 'ledger'];
  switch (self.at) {
    case 'idle':
      yield [`${owner} claims, reads ${one}`, to({ at: 'reading', since: time, ...reading })];
      return;
    case 'reading':
      yield [`${owner} reads ${other}`, to({ at: 'read', ...alsoReading })];
      return;
    case 'read': {
      const { ledger: seen, head: seenHead } = self;
      if (seen === undefined || seenHead === undefined) return;
      const effective = seen.holds.filter((hold) => isEffective(hold, seenHead, now, size, rules));
      const wins = !rules.conditionalWrite || ledger.version === seen.version;
      const forget = { ledger: undefined, head: undefined, since: 0 };
      if (effective.length + seenHead.jobs.length >= seenHead.slots || !wins) {
        yield [`${owner} is refused`, to({ at: 'idle', ...forget })];
        return;
      }
      const kept = rules.recordEnds ? effective : seen.holds;
      const holds = [...kept, { owner, confirmed: false, expires: now + size.heldTtl }];
      yield [
        `${owner} is accepted`,
        to(
          { at: 'held', ...forget, deadline: self.since + size.heldTtl },
          { ledger: { version: ledger.version + 1, holds } },
        ),
      ];
      return;
    }
    case 'held':
      yield [`${owner} confirms, reads ${one}`, to({ at: 'confirming', since: time, ...reading })];
      // Without the rule a held claim is enough, whenever its owner gets to it.
      if (!rules.startConfirmed) yield* start(state, owner, to);
      return;
    case 'confirming':
      yield [`${owner} reads ${other}`, to({ at: 'judging', ...alsoReading })];
      return;
    case 'judging': {
      const { ledger: seen, head: seenHead } = self;
      if (seen === undefined || seenHead === undefined) return;
      const own = seen.holds.find((hold) => hold.owner === owner);
      const counts =
        own !== undefined && (!rules.judgeConfirm || isEffective(own, seenHead, now, size, rules));
      const wins = !rules.conditionalWrite || ledger.version === seen.version;
      const forget = { ledger: undefined, head: undefined, since: 0 };
      if (!counts || !wins) {
        yield [`${owner} cannot confirm`, to({ at: wins ? 'done' : 'held', ...forget, deadline: 0 })];
        return;
      }
      const holds = seen.holds.map((hold) =>
        hold.owner === owner ? { ...hold, confirmed: true, expires: now + size.confirmedTtl } : hold,
      );
      yield [
        `${owner} is confirmed`,
        to(
          { at: 'confirmed', ...forget, deadline: self.since + size.confirmedTtl },
          { ledger: { version: ledger.version + 1, holds } },
        ),
      ];
      return;
    }
    case 'confirmed':
      if (time < self.deadline || !rules.startConfirmed) yield* start(state, owner, to);
      if (
        size.releases === true &&
        !rules.releaseKeepsTime &&
        ledger.holds.some((hold) => hold.owner === owner)
      ) {
        const holds = ledger.holds.filter((hold) => hold.owner !== owner);
        yield [`${owner} releases`, to({}, { ledger: { version: ledger.version + 1, holds } })];
      }
      return;
    case 'done':
      return;
  }
}

function* start(
  state: State,
  owner: number,
  to: (next: Partial<Scheduler>, rest?: Partial<State>) => State,
): Generator<Step> {
  const jobs = [...state.jobs, { owner, started: state.time }].sort((a, b) => a.owner - b.owner);
  yield [`${owner}'s deployer starts the job`, to({ at: 'done', deadline: 0 }, { jobs })];
}
