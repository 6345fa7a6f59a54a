/**
 * Fuzzes what takes snapshots from outside.
 *
 *     npm run fuzz -- --minutes 10
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { Command, InvalidArgumentError, Option } from 'commander';
import { bundleFuzzer } from './bundle.ts';
import { readCase, saveCase, seeds } from './corpus.ts';
import { TARGET_NAMES, type TargetName } from './targets/index.ts';
import { CaseWatch } from './watch.ts';
import type { WorkerInput, WorkerOutput } from './worker.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CRASHERS = join(ROOT, 'test/fuzz/crashers');

/** No case is so large that it may take longer: the largest body that a push can have takes a few. */
const HANG_MS = 20_000;
/** Of the worker's heap: several times what the largest case needs. */
const MAX_HEAP_MB = 1_024;
const PROGRESS_MS = 10_000;

interface Options {
  readonly minutes: number;
  readonly seed: number;
  readonly corpus: string;
  readonly target: TargetName | 'all';
  readonly replay?: string;
}

const program = new Command('fuzz')
  .description(
    'Mutates real snapshots, guided by coverage, until one breaks what must hold. Ends with 1 and a saved case where one does.',
  )
  .option('--minutes <n>', 'in all, shared by the targets', positive, 3)
  .option('--seed <n>', 'of the random choices', positive, Math.floor(Math.random() * 2 ** 31))
  .option(
    '--corpus <folder>',
    'where cases that reached something new are kept from run to run',
    join(ROOT, 'coverage/fuzz'),
  )
  .addOption(
    new Option('--target <name>', 'pipeline: from bytes to a spliced map; service: over HTTP')
      .choices([...TARGET_NAMES, 'all'])
      .default('all'),
  )
  .option('--replay <file>', 'run one case (.pb or .json) alone, on the target');
const options = program.parse().opts<Options>();

function positive(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError('It must be a number above 0.');
}

// The SDK tells every process on Node 20 that its future versions want a newer one.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

const folder = mkdtempSync(join(ROOT, 'node_modules/.fuzz-'));
try {
  const bundle = await bundleFuzzer(ROOT, folder);
  const targets = options.target === 'all' ? TARGET_NAMES : [options.target];
  for (const target of targets) {
    if (!(await run(bundle, target, options.minutes / targets.length))) process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** @returns whether everything held */
async function run(bundle: string, target: TargetName, minutes: number): Promise<boolean> {
  const { seed, replay } = options;
  const largest =
    replay === undefined
      ? Math.max(...seeds(ROOT).map(({ bytes }) => bytes.length))
      : readCase(replay).bytes.length;
  const memory = CaseWatch.memory(largest);
  const watch = new CaseWatch(memory);
  const input: WorkerInput = {
    target,
    root: ROOT,
    corpus: join(resolve(options.corpus), target),
    ...(replay === undefined ? {} : { replay: resolve(replay) }),
    seed,
    minutes,
    memory,
  };
  console.log(
    replay === undefined ? `${target}: ${minutes.toFixed(1)} min, --seed ${seed}` : `${target}: ${replay}`,
  );
  const startedAt = Date.now();
  const outcome = await watched(
    new Worker(bundle, { workerData: input, resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB } }),
    watch,
    target,
  );
  const { cases, kept } = watch.seen;
  if (outcome.kind === 'done') {
    const seconds = Math.max(1, Math.round((Date.now() - startedAt) / 1_000));
    console.log(`${target}: all held, in ${cases} cases in ${seconds} s; ${kept} reached something new`);
    return true;
  }
  console.error(`${target}: ${outcome.error}`);
  if (replay === undefined) {
    const file = relative(ROOT, saveCase(CRASHERS, `${target}-`, watch.current));
    console.error(`Saved as ${file}; again with: npm run fuzz -- --target ${target} --replay ${file}`);
  }
  return false;
}

function watched(worker: Worker, watch: CaseWatch, target: TargetName): Promise<WorkerOutput> {
  return new Promise((done, fail) => {
    let last = { cases: 0, at: Date.now() };
    const end = (outcome: WorkerOutput): void => {
      clearInterval(hang);
      clearInterval(progress);
      void worker.terminate().then(() => done(outcome));
    };
    const hang = setInterval(() => {
      const { cases } = watch.seen;
      if (cases !== last.cases) last = { cases, at: Date.now() };
      else if (cases > 0 && Date.now() - last.at > HANG_MS)
        end({ kind: 'crash', error: `The case takes more than ${HANG_MS} ms.` });
    }, 500);
    const startedAt = Date.now();
    const progress = setInterval(() => {
      const { cases, kept, reached, of } = watch.seen;
      const seconds = Math.round((Date.now() - startedAt) / 1_000);
      console.log(
        `${target}: ${seconds} s, ${cases} cases, ${Math.round(cases / seconds)}/s, ${kept} kept, ${reached} of ${of} points reached`,
      );
    }, PROGRESS_MS);
    worker.on('message', (outcome: WorkerOutput) => end(outcome));
    worker.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') {
        end({ kind: 'crash', error: `The case takes more than ${MAX_HEAP_MB} MB of heap.` });
      } else fail(error);
    });
  });
}
