/**
 * What a cold start pays to load a function, by how it is bundled: CPU time of a fresh
 * Node 24 from its start until the module is loaded, less that of a Node that loads nothing.
 *
 *     npm run bench:cold-start
 */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type BuildOptions, build } from 'esbuild';
import { BUILD_OPTIONS, bundleFunction } from '../../infra/bundling.ts';
import { FUNCTIONS } from '../../infra/functions.ts';
import { findNode24 } from '../infra/deployed/node24.ts';
import { SHORT } from './short.ts';

const RUNS = SHORT ? 1 : 30;
const ENVIRONMENT = {
  HEADS_TABLE: 'heads',
  BODIES_TABLE: 'bodies',
  HEAD_SHARDS: '8',
  TRUST_TABLE: 'trust',
  POOLS_TABLE: 'pools',
  CLAIMS_TABLE: 'claims',
  BUNDLES_TABLE: 'bundles',
  MAX_CLOCK_AHEAD_SECONDS: '300',
  OMIT_AFTER_SECONDS: '900',
  RETIRE_AFTER_SECONDS: '86400',
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'bench',
  AWS_SECRET_ACCESS_KEY: 'bench',
};

interface Variant {
  readonly name: string;
  readonly file: string;
  readonly flags: readonly string[];
}

const node = await findNode24();
if (node === undefined) throw new Error('There is no Node 24; install it, or let npx fetch it.');
const folder = await mkdtemp(join(tmpdir(), 'cold-start-'));
try {
  const variants = await variantsIn(folder);
  const samples = new Map<string, number[]>();
  // In turns, so that what else the machine does hits all alike.
  for (let run = 0; run < RUNS; run++) {
    for (const variant of variants) {
      const ms = await loadCpuMs(node, variant);
      samples.set(variant.name, [...(samples.get(variant.name) ?? []), ms]);
    }
  }
  const empty = median(samples.get('nothing') ?? []);
  const base = median(samples.get('as deployed') ?? []) - empty;
  console.log('| bundle of push | KB | load, CPU ms | against deployed |\n|---|---|---|---|');
  for (const { name, file } of variants.slice(1)) {
    const ms = median(samples.get(name) ?? []) - empty;
    const kb = ((await stat(file)).size / 1_000).toFixed(0);
    console.log(`| ${name} | ${kb} | ${ms.toFixed(0)} | ${(ms / base).toFixed(2)} |`);
  }
} finally {
  await rm(folder, { recursive: true });
}

async function variantsIn(root: string): Promise<readonly Variant[]> {
  const nothing = join(root, 'nothing.cjs');
  await writeFile(nothing, 'exports.handler = () => undefined;');
  const deployed = (await bundleFunction('push', root)).file;
  const mapless = join(root, 'mapless.cjs');
  await copyFile(deployed, mapless);
  const built = async (name: string, extension: string, options: BuildOptions): Promise<string> => {
    const outfile = join(root, name, `index.${extension}`);
    await mkdir(join(root, name), { recursive: true });
    await build({
      ...BUILD_OPTIONS,
      sourcemap: 'linked',
      ...options,
      entryPoints: [FUNCTIONS.push.entry],
      outfile,
    });
    return outfile;
  };
  const maps = ['--enable-source-maps'];
  return [
    { name: 'nothing', file: nothing, flags: [] },
    { name: 'as deployed', file: deployed, flags: maps },
    { name: 'source maps off', file: mapless, flags: [] },
    { name: 'with the whole source map', file: await built('whole-map', 'cjs', {}), flags: maps },
    { name: 'and as an ES module', file: await built('esm', 'mjs', { format: 'esm' }), flags: maps },
    {
      name: "with the SDK's credential chain",
      file: await built('chain', 'cjs', { alias: {} }),
      flags: maps,
    },
    {
      name: "and the SDK's CommonJS files",
      file: await built('main', 'cjs', { alias: {}, mainFields: ['main', 'module'] }),
      flags: maps,
    },
    {
      name: 'and not minified',
      file: await built('plain', 'cjs', { alias: {}, mainFields: ['main', 'module'], minify: false }),
      flags: maps,
    },
  ];
}

async function loadCpuMs(executable: string, { file, flags }: Variant): Promise<number> {
  const report =
    '() => { const { user, system } = process.cpuUsage(); console.log((user + system) / 1e3); process.exit(); }';
  const load = file.endsWith('.mjs')
    ? `import(${JSON.stringify(file)}).then(${report})`
    : `require(${JSON.stringify(file)}); (${report})()`;
  const { stdout } = await promisify(execFile)(executable, [...flags, '-e', load], {
    env: { PATH: process.env.PATH, ...ENVIRONMENT },
  });
  return Number(stdout);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
