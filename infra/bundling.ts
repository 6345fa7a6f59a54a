/**
 * Builds what runs in Lambda: for each function one JavaScript file with everything in
 * it, the AWS SDK too, so that what was tested is what runs, whatever the runtime ships.
 *
 * The same sources give the same bytes, in whatever folder they lie and are built to:
 * CDK names an asset by its content, and a deploy that changes nothing must upload nothing.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { decode, encode } from '@jridgewell/sourcemap-codec';
import { type BuildOptions, build, type Metafile } from 'esbuild';
import { writePage } from '../functions/page/build.ts';
import { FUNCTIONS, type FunctionName } from './functions.ts';

/** The root of the project. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The file in a bundle's folder, and the export in it, as Lambda wants them named. */
export const BUNDLE_FILE = 'index.js';
export const BUNDLE_HANDLER = 'index.handler';

/**
 * CommonJS: on Node 24 it loads in less time than the same code as an ES module, above
 * all with source maps on (`npm run bench:cold-start` has the figures).
 */
export const BUILD_OPTIONS = {
  absWorkingDir: ROOT,
  bundle: true,
  minify: true,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  // The SDK's ES modules can be shaken; its CommonJS files are taken whole, 200 KB more.
  mainFields: ['module', 'main'],
  alias: { '@aws-sdk/credential-provider-node': './infra/lambda-credentials.ts' },
  sourcemap: 'external',
  sourcesContent: false,
  metafile: true,
  logLevel: 'silent',
} as const satisfies BuildOptions;

/** A function, built. */
export interface Bundle {
  /** Holds {@link BUNDLE_FILE} and its source map, and nothing else. */
  readonly folder: string;
  readonly file: string;
  /** Bytes of the file, without the map. */
  readonly bytes: number;
  /** Names of the packages of which something is in the file. */
  readonly packages: ReadonlySet<string>;
}

/**
 * Builds one function into `folder`/`name`.
 *
 * @throws esbuild's BuildFailure, which names file and line
 */
export async function bundleFunction(name: FunctionName, folder: string): Promise<Bundle> {
  // What it serves is built as well, so that what is deployed is today's.
  if (name === 'about') await writePage();
  const target = resolve(folder, name);
  const file = join(target, BUNDLE_FILE);
  const { outputFiles, metafile } = await build({
    ...BUILD_OPTIONS,
    entryPoints: [FUNCTIONS[name].entry],
    outfile: file,
    write: false,
  });
  const code = outputFiles.find((output) => output.path === file);
  const map = outputFiles.find((output) => output.path === `${file}.map`);
  if (code === undefined || map === undefined) throw new Error(`esbuild gave no ${file} and map of it.`);
  await mkdir(target, { recursive: true });
  const text = `${code.text}//# sourceMappingURL=${BUNDLE_FILE}.map\n`;
  await writeFile(file, text);
  await writeFile(`${file}.map`, ownSourceMap(map.text, target));
  return { folder: target, file, bytes: Buffer.byteLength(text), packages: packagesIn(metafile) };
}

/** What is left of a package when all else was shaken off counts; what is shaken off whole does not. */
function packagesIn({ outputs }: Metafile): ReadonlySet<string> {
  const paths = Object.values(outputs).flatMap(({ inputs }) =>
    Object.keys(inputs).filter((path) => (inputs[path]?.bytesInOutput ?? 0) > 0),
  );
  const names = paths.map((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]);
  return new Set(names.filter((name) => name !== undefined));
}

/** Builds all of `names`, each into a folder of its own under `folder`. */
export async function bundleFunctions(
  names: readonly FunctionName[],
  folder: string,
): Promise<ReadonlyMap<FunctionName, Bundle>> {
  const bundles = await Promise.all(names.map((name) => bundleFunction(name, folder)));
  return new Map(names.map((name, i) => [name, bundles[i] as Bundle]));
}

/**
 * The part of a source map that is about our own files. Node reads the map when it loads
 * the file, a cold start's time for each kilobyte, and nine tenths of it are libraries and data.
 */
function ownSourceMap(json: string, folder: string): string {
  const map = JSON.parse(json) as { readonly sources: readonly string[]; readonly mappings: string };
  const fromRoot = map.sources.map((source) => relative(ROOT, resolve(folder, source)));
  const kept: string[] = [];
  const keptIndex = fromRoot.map((source) =>
    /^(?:functions|infra)\/.*\.ts$/.test(source) ? kept.push(source) - 1 : undefined,
  );
  const lines = decode(map.mappings).map((segments) =>
    segments.flatMap((segment): (typeof segment)[] => {
      if (segment.length === 1) return [segment];
      const [column, source, sourceLine, sourceColumn] = segment;
      const index = keptIndex[source];
      // A lone column says: from here on, no source known.
      return [index === undefined ? [column] : [column, index, sourceLine, sourceColumn]];
    }),
  );
  const thinned = lines.map((segments) =>
    segments.filter((segment, i) => segment.length > 1 || segments[i - 1]?.length !== 1),
  );
  return JSON.stringify({ version: 3, sources: kept, names: [], mappings: encode(thinned) });
}
