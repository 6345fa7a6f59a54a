/**
 * Writes the two packages that are published, `dist/packages/client` and `dist/packages/rmap`, from what
 * `npm run build` has compiled: `npm run build:packages`.
 *
 * The client is bundled, so that it brings nothing along but Protobuf's runtime, which its user shares with it. The
 * command line keeps its files and its dependencies: what a command does not need is not loaded.
 */
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { copyDocs } from './docs.ts';
import { copyTypes } from './types.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DIST = join(ROOT, 'dist');
export const PACKAGES = join(DIST, 'packages');

/** What the package of the client exports, and the compiled module that it is. */
const CLIENT_ENTRIES = {
  '.': 'client/index',
  './bundle': 'core/bundle/index',
  './rpc': 'client/rpc',
} as const;

/** Folders of `dist` that `rmap` does not load. */
const NOT_IN_RMAP = ['packages', 'page'];

interface RootPackage {
  readonly version: string;
  readonly license: string;
  readonly engines: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

export async function buildPackages(): Promise<void> {
  const root = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as RootPackage;
  await rm(PACKAGES, { recursive: true, force: true });
  await buildClient(root);
  await buildRmap(root);
}

async function buildClient({ version, license, engines, dependencies }: RootPackage): Promise<void> {
  const folder = join(PACKAGES, 'client');
  const names = Object.entries(CLIENT_ENTRIES).map(([path, module]) => ({
    path,
    module,
    name: path === '.' ? 'index' : path.slice(2),
  }));
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: Object.fromEntries(names.map(({ name, module }) => [name, join(DIST, `${module}.js`)])),
    outdir: join(folder, 'dist'),
    bundle: true,
    splitting: true,
    format: 'esm',
    // Neither Node's modules nor a browser's: what needs one of them does not build.
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'es2022',
    external: ['@bufbuild/protobuf'],
    metafile: true,
    logLevel: 'warning',
  });
  await copyTypes(
    DIST,
    join(folder, 'types'),
    names.map(({ module }) => `${module}.d.ts`),
  );
  await writeNotices(folder, Object.keys(metafile.inputs));
  await copyDocs(ROOT, folder, 'client.md');
  await cp(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  await writePackage(folder, {
    name: '@resource-map/client',
    version,
    description: 'Typed client of Resource Map: push, read, replicate and claim accelerator capacity.',
    license,
    type: 'module',
    sideEffects: false,
    engines,
    exports: {
      ...Object.fromEntries(
        names.map(({ path, module, name }) => [
          path,
          { types: `./types/${module}.d.ts`, default: `./dist/${name}.js` },
        ]),
      ),
      './package.json': './package.json',
    },
    files: ['dist', 'types', 'docs', 'THIRD_PARTY_NOTICES'],
    peerDependencies: { '@bufbuild/protobuf': `^${dependencies['@bufbuild/protobuf'] ?? ''}` },
  });
}

async function buildRmap({ version, license, engines, dependencies }: RootPackage): Promise<void> {
  const folder = join(PACKAGES, 'rmap');
  const folders = (await readdir(DIST, { withFileTypes: true })).filter(
    (each) => each.isDirectory() && !NOT_IN_RMAP.includes(each.name),
  );
  for (const { name } of folders) {
    await cp(join(DIST, name), join(folder, 'dist', name), {
      recursive: true,
      filter: (source) => !/\.(d\.ts|map)$/.test(source),
    });
  }
  // Read at run time, by their path from the compiled module.
  await cp(join(ROOT, 'functions/local/samples'), join(folder, 'functions/local/samples'), {
    recursive: true,
  });
  await copyDocs(ROOT, folder, 'rmap.md');
  await cp(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  await writePackage(folder, {
    name: '@resource-map/rmap',
    version,
    description: 'Command line, Kubernetes agent and local service of Resource Map.',
    license,
    type: 'module',
    engines,
    bin: { rmap: 'dist/cli/rmap.js' },
    files: ['dist', 'functions', 'docs'],
    dependencies,
  });
}

async function writePackage(folder: string, content: object): Promise<void> {
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(content, undefined, 2)}\n`);
}

/** The licenses of what is bundled, as they ask for. */
async function writeNotices(folder: string, inputs: readonly string[]): Promise<void> {
  const bundled = new Set(
    inputs.flatMap((file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []),
  );
  const notices: string[] = [];
  for (const name of [...bundled].sort()) {
    const from = join(ROOT, 'node_modules', name);
    const license = await readFile(join(from, 'LICENSE'), 'utf8').catch(() =>
      readFile(join(from, 'LICENSE.md'), 'utf8'),
    );
    notices.push(`${name}\n\n${license.trim()}\n`);
  }
  await writeFile(join(folder, 'THIRD_PARTY_NOTICES'), notices.join('\n---\n\n'));
}

if (import.meta.filename === process.argv[1]) await buildPackages();
