/** Makes one file of a target and the fuzzer around it, with counters in the code that is to be explored. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build, type Plugin, transform } from 'esbuild';
import { createInstrumenter } from 'istanbul-lib-instrument';
import { COVERAGE_VARIABLE } from './coverage.ts';

/** The service's own code, and the library that decodes for it. */
const EXPLORED = /[\\/]functions[\\/].*\.ts$|[\\/]@bufbuild[\\/]protobuf[\\/].*\.js$/;

/** Descriptors: there is nothing to explore. */
const GENERATED = /[\\/]functions[\\/]gen[\\/]/;

const instrument: Plugin = {
  name: 'instrument',
  setup(bundling) {
    bundling.onLoad({ filter: EXPLORED }, async ({ path }) => {
      if (GENERATED.test(path)) return undefined;
      const source = await readFile(path, 'utf8');
      const { code } = await transform(source, {
        loader: path.endsWith('.ts') ? 'ts' : 'js',
        target: 'node20',
      });
      const instrumenter = createInstrumenter({
        esModules: true,
        produceSourceMap: false,
        coverageVariable: COVERAGE_VARIABLE,
      });
      return { contents: instrumenter.instrumentSync(code, path), loader: 'js' };
    });
  },
};

/**
 * @param root of the project
 * @param folder in the project, since what is left out of the file is looked for from there
 * @returns the file, an ES module
 */
export async function bundleFuzzer(root: string, folder: string): Promise<string> {
  const outfile = join(folder, 'worker.mjs');
  await build({
    absWorkingDir: root,
    entryPoints: ['test/fuzz/worker.ts'],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    plugins: [instrument],
    // All but the library that is explored stays as it is installed.
    external: [
      '@aws-sdk/*',
      '@smithy/*',
      'dynalite',
      'level',
      'hono',
      '@hono/*',
      'jose',
      'fastest-levenshtein',
      'eventsource-parser',
      'commander',
    ],
    logLevel: 'silent',
  });
  return outfile;
}
