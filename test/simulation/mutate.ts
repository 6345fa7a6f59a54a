/** `npm run simulate:mutations`: whether the simulation finds what it must; a check of the checker. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { build } from 'esbuild';
import { MUTATIONS, type Mutation } from './mutations.ts';

const HELP = `Usage: npm run simulate:mutations -- [options] [NAME]

Switches off, one at a time, what the service's safety rests on, and has the simulation find it.

  NAME         only the mutations with this in their name
  --seeds N    seeds within which each must be found (150)
  --list       prints the mutations and ends
  --help       shows this help

Exit codes: 0 all as the list says, 1 one was not found or found against its reason, 2 the options are wrong.`;

const run = promisify(execFile);
const { seeds: SEEDS, only } = options();

/** Ends the process where there is nothing to run. */
function options(): { readonly seeds: number; readonly only: string | undefined } {
  const refuse = (message: string): never => {
    console.error(`${message}\n\n${HELP}`);
    process.exit(2);
  };
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        seeds: { type: 'string', default: '150' },
        list: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    });
    if (values.help === true || values.list === true) {
      console.log(values.help === true ? HELP : MUTATIONS.map(({ name }) => name).join('\n'));
      process.exit(0);
    }
    if (!/^[1-9]\d{0,6}$/.test(values.seeds))
      refuse(`--seeds is ${JSON.stringify(values.seeds)}; it must be an integer from 1 to 9999999.`);
    if (positionals.length > 1) refuse(`${positionals.length} names are given; give one, in quotes.`);
    const [name] = positionals;
    if (name !== undefined && !MUTATIONS.some((each) => each.name.includes(name)))
      refuse(`No mutation has ${JSON.stringify(name)} in its name; --list prints them.`);
    return { seeds: Number(values.seeds), only: name };
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

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

const folder = await mkdtemp(join(tmpdir(), 'simulation-'));
let wrong = 0;
let judged = 0;
try {
  if (only === undefined) {
    // Without a mutation nothing may be found, or every mutation would be.
    const control = join(folder, 'control.mjs');
    await bundle(undefined, control);
    const { found, text } = await finds(control, SEEDS);
    if (found) throw new Error(`The code as it is fails: ${text}`);
  }
  for (const mutation of MUTATIONS.filter(({ name }) => only === undefined || name.includes(only))) {
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
