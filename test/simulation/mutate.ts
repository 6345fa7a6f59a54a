/** `npm run simulate:mutations`: whether the simulation finds what it must; a check of the checker. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { MUTATIONS, type Mutation } from './mutations.ts';

const run = promisify(execFile);
const SEEDS = Number(process.env.MUTATION_SEEDS ?? 150);

/** The simulation with one place of the service changed, in one file. */
async function bundle(mutation: Mutation | undefined, outfile: string): Promise<void> {
  await build({
    entryPoints: ['test/simulation/main.ts'],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
    // The model goes by the names of the SDK's classes.
    keepNames: true,
    logLevel: 'silent',
    plugins: [
      {
        name: 'mutation',
        setup(hooks) {
          hooks.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
            const source = await readFile(path, 'utf8');
            if (mutation === undefined || resolve(mutation.file) !== path)
              return { contents: source, loader: 'ts' };
            const places = source.split(mutation.from).length - 1;
            if (places !== 1)
              throw new Error(
                `"${mutation.name}": its text occurs ${places} times in ${mutation.file}; update it.`,
              );
            return { contents: source.replace(mutation.from, () => mutation.to), loader: 'ts' };
          });
        },
      },
    ],
  });
}

async function finds(
  file: string,
  seeds: number,
): Promise<{ readonly found: boolean; readonly text: string }> {
  for (let from = 1; from <= seeds; from += 25) {
    try {
      await run(process.execPath, [file, '--seeds', '25', '--from', String(from), '--first'], {
        maxBuffer: 1 << 26,
      });
    } catch (error) {
      const { code, stdout = '', stderr = '' } = error as { code?: number; stdout?: string; stderr?: string };
      // An uncaught exception ends a process with 1 as well.
      if (code !== 1 || !/^Seed \d+: /m.test(stdout))
        throw new Error(`The simulation ended with ${code}: ${stderr}`);
      return { found: true, text: stdout.split('\n').slice(0, 2).join(' ').trim() };
    }
  }
  return { found: false, text: `not within ${seeds} seeds` };
}

function chosen(only: string | undefined): readonly Mutation[] {
  const found = MUTATIONS.filter(({ name }) => only === undefined || name.includes(only));
  if (found.length === 0) throw new Error(`No mutation has ${JSON.stringify(only)} in its name.`);
  return found;
}

const folder = await mkdtemp(join(tmpdir(), 'simulation-'));
let wrong = 0;
let judged = 0;
try {
  const only = process.argv[2];
  if (only === undefined) {
    // Without a mutation nothing may be found, or every mutation would be.
    const control = join(folder, 'control.mjs');
    await bundle(undefined, control);
    const { found, text } = await finds(control, SEEDS);
    if (found) throw new Error(`The code as it is fails: ${text}`);
  }
  for (const mutation of chosen(only)) {
    const file = join(folder, 'mutant.mjs');
    await bundle(mutation, file);
    const { found, text } = await finds(file, SEEDS);
    // A belt that the simulation cuts through is a bug in our reasons, which must be known as well.
    const right = found === (mutation.belt === undefined);
    judged++;
    if (!right) wrong++;
    console.log(`${right ? 'ok   ' : 'WRONG'} ${found ? 'found' : 'belt '}  ${mutation.name}: ${text}`);
  }
} finally {
  await rm(folder, { recursive: true });
}
console.log(`${judged - wrong} passed, ${wrong} failed`);
process.exit(wrong === 0 ? 0 : 1);
