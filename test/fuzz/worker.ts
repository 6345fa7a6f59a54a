/** The side of a run that may hang or die: the loop, the target, and the code under it. */
import { parentPort, workerData } from 'node:worker_threads';
import { seededRandom } from '../builders/permute-wire.ts';
import type { Case } from './case.ts';
import { readCase, readCases, saveCase, seeds } from './corpus.ts';
import { Coverage } from './coverage.ts';
import { fuzz } from './loop.ts';
import { Random } from './random.ts';
import { type TargetName, targetOf } from './targets/index.ts';
import { CaseWatch } from './watch.ts';

export interface WorkerInput {
  readonly target: TargetName;
  /** Of the project. */
  readonly root: string;
  /** Folder of what earlier runs kept. */
  readonly corpus: string;
  /** A file to run alone. */
  readonly replay?: string;
  readonly seed: number;
  readonly minutes: number;
  readonly memory: SharedArrayBuffer;
}

/** How the worker ends when it ends by itself. */
export type WorkerOutput = { readonly kind: 'done' } | { readonly kind: 'crash'; readonly error: string };

const input = workerData as WorkerInput;
const watch = new CaseWatch(input.memory);
const target = await targetOf(input.target, input.root);

async function run(): Promise<WorkerOutput> {
  if (input.replay !== undefined) {
    const single = readCase(input.replay);
    watch.begin(single);
    try {
      await target(single);
    } catch (error) {
      return { kind: 'crash', error: describe(error) };
    }
    return { kind: 'done' };
  }
  const coverage = new Coverage();
  const endsAt = Date.now() + input.minutes * 60_000;
  const start: Case[] = [...seeds(input.root), ...readCases(input.corpus).values()];
  const crash = await fuzz({
    target,
    seeds: start,
    coverage,
    random: new Random(seededRandom(input.seed)),
    before: (each) => watch.begin(each),
    kept: (each) => void saveCase(input.corpus, '', each),
    goOn: ({ cases, kept }) => {
      if (cases % 64 === 0 || kept < 64) {
        const { points, of } = coverage.reached;
        watch.report({ kept, reached: points, of });
      }
      return Date.now() < endsAt;
    },
  });
  return crash === undefined ? { kind: 'done' } : { kind: 'crash', error: describe(crash.error) };
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

parentPort?.postMessage(await run());
