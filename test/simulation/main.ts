/** `npm run simulate`: many seeds, a table of what they did, and the story of each that failed. */
import './host.ts';
import { parseArgs } from 'node:util';
import { realMs } from './host.ts';

const HELP = `Usage: npm run simulate -- [options]

Runs the service in simulated worlds and judges what its clients saw.

  --seeds N     number of seeds (100)
  --from N      the first seed (1)
  --minutes N   ends after N minutes, even if seeds are left
  --first       ends at the first seed that fails
  --story N     prints the story of seed N and ends
  --until MS    simulated milliseconds before the world turns kind (60000)
  --help        shows this help

Exit codes: 0 no violation, 1 a violation was found, 2 the options are wrong.`;

function integer(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  console.error(`--${name} is ${JSON.stringify(text)}; it must be an integer from 1 to 999999999.`);
  process.exit(2);
}

async function main(): Promise<void> {
  let values: Record<string, string | boolean | undefined>;
  try {
    ({ values } = parseArgs({
      options: {
        seeds: { type: 'string' },
        from: { type: 'string' },
        minutes: { type: 'string' },
        story: { type: 'string' },
        until: { type: 'string' },
        first: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    }));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    process.exit(2);
  }
  if (values.help === true) return console.log(HELP);
  const text = (name: string): string | undefined => {
    const value = values[name];
    return typeof value === 'string' ? value : undefined;
  };
  const untilMs = integer('until', text('until'), 60_000);
  // Loaded only now, after the host has replaced clocks and compression.
  const { simulate } = await import('./simulate.ts');

  const story = text('story');
  if (story !== undefined) {
    const outcome = await simulate(integer('story', story, 1), true, untilMs);
    for (const line of outcome.story) console.log(line);
    for (const wrong of outcome.wrongs) console.log(`WRONG: ${wrong}`);
    process.exit(outcome.wrongs.length === 0 ? 0 : 1);
  }

  const seeds = integer('seeds', text('seeds'), 100);
  const from = integer('from', text('from'), 1);
  const limitMs =
    text('minutes') === undefined
      ? Number.POSITIVE_INFINITY
      : integer('minutes', text('minutes'), 1) * 60_000;
  const startedMs = realMs();
  const total = { seeds: 0, operations: 0, acknowledged: 0, claims: 0, jobsStarted: 0, restarts: 0 };
  const failed: number[] = [];
  for (let seed = from; seed < from + seeds && realMs() - startedMs < limitMs; seed++) {
    const outcome = await simulate(seed, false, untilMs);
    total.seeds++;
    total.operations += outcome.operations;
    total.acknowledged += outcome.acknowledged;
    total.claims += outcome.claims;
    total.jobsStarted += outcome.jobsStarted;
    total.restarts += outcome.restarts;
    if (outcome.wrongs.length > 0) {
      failed.push(seed);
      if (values.first === true) {
        console.log(`Seed ${seed}: ${outcome.wrongs[0]}`);
        break;
      }
      console.log(`Seed ${seed} failed:`);
      for (const wrong of outcome.wrongs.slice(0, 5)) console.log(`  ${wrong}`);
      console.log(
        `  Its story: npm run simulate -- --story ${seed} --until ${await shortest(simulate, seed, untilMs)}`,
      );
    }
    if (total.seeds % 100 === 0 && process.stdout.isTTY)
      console.error(`${total.seeds} seeds, ${total.operations} operations …`);
  }
  const seconds = (realMs() - startedMs) / 1_000;
  console.log(
    `${total.seeds} seeds, ${total.operations} operations, ${total.acknowledged} pushes acknowledged, ` +
      `${total.claims} claims accepted, ${total.jobsStarted} jobs started on them, ` +
      `${total.restarts} processes killed, ${failed.length} seeds failed, ${seconds.toFixed(0)} s, ` +
      `${Math.round(total.operations / seconds)} operations a second`,
  );
  console.log(`${total.seeds - failed.length} passed, ${failed.length} failed`);
  process.exit(failed.length === 0 ? 0 : 1);
}

/** The least time of faults after which the seed still fails, found by halving. */
async function shortest(
  simulate: (
    seed: number,
    story: boolean,
    untilMs: number,
  ) => Promise<{ readonly wrongs: readonly string[] }>,
  seed: number,
  untilMs: number,
): Promise<number> {
  let [low, high] = [1, untilMs];
  while (high - low > 100) {
    const middle = Math.floor((low + high) / 2);
    if ((await simulate(seed, false, middle)).wrongs.length > 0) high = middle;
    else low = middle;
  }
  return high;
}

await main();
