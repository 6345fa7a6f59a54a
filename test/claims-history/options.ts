import { parseArgs } from 'node:util';

const HELP = `Usage: npm run claims:history -- [options]

A history of claims: four service processes that are killed, schedulers whose responses get lost, agents that show late,
nodes that come and go, on a clock that runs six times as fast. It fails if a cluster ever holds more than it has, an
acknowledged claim is lost, or something is held for ever.

  --engine NAME     dynalite, dynamodb-local or both (both); without Java dynamodb-local is skipped
  --minutes N       how long (1)
  --operations N    instead: until so many requests were made
  --seed N          of all choices (another one each time; it is printed)
  --contention      16 writers on one ledger over the four processes, and how many of them give up
  --broken          a ledger that loses writes: fails if no violation is found
  --help            shows this help

Exit codes: 0 all held, 1 something did not, 2 the options are wrong.`;

export interface HistoryOptions {
  readonly engines: readonly ('dynalite' | 'dynamodb-local')[];
  readonly minutes: number;
  /** Absent: it ends by time. */
  readonly operations: number | undefined;
  readonly seed: number;
  readonly contention: boolean;
  readonly broken: boolean;
}

function refuse(message: string): never {
  console.error(`${message}\n\n${HELP}`);
  process.exit(2);
}

function positive(name: string, text: string): number {
  const number = Number(text);
  return number > 0 && Number.isFinite(number)
    ? number
    : refuse(`--${name} is ${JSON.stringify(text)}; it must be a number above 0.`);
}

/** Ends the process for `--help`, and for options that make no sense. */
export function historyOptions(): HistoryOptions {
  const { values } = parsed();
  if (values.help) {
    console.log(HELP);
    process.exit(0);
  }
  const engines = ENGINES[values.engine];
  if (engines === undefined)
    refuse(`--engine is ${JSON.stringify(values.engine)}; it can be ${Object.keys(ENGINES).join(', ')}.`);
  return {
    engines,
    minutes: positive('minutes', values.minutes),
    operations: values.operations === undefined ? undefined : positive('operations', values.operations),
    seed: positive('seed', values.seed),
    contention: values.contention,
    broken: values.broken,
  };
}

const ENGINES: Readonly<Record<string, HistoryOptions['engines']>> = {
  dynalite: ['dynalite'],
  'dynamodb-local': ['dynamodb-local'],
  both: ['dynalite', 'dynamodb-local'],
};

function parsed() {
  try {
    return parseArgs({
      options: {
        engine: { type: 'string', default: 'both' },
        minutes: { type: 'string', default: '1' },
        operations: { type: 'string' },
        seed: { type: 'string', default: String(1 + (Date.now() % 1_000_000)) },
        contention: { type: 'boolean', default: false },
        broken: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}
