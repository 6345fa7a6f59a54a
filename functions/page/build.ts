/**
 * Builds the page: one script and one style sheet under names with their content's hash, and the
 * HTML that names them, all compressed once, here, since no front compresses in between.
 *
 * The result is one JSON file beside the routes that serve it, so that a Lambda bundle holds it.
 */
import { createHash } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import type { PageAsset, PageAssets } from '../lambdas/about/page-assets.ts';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const TARGET = fileURLToPath(new URL('../lambdas/about/page.json', import.meta.url));

/** Browsers of the last three years or so. */
const BROWSERS = ['chrome116', 'firefox117', 'safari17'];

export async function buildPage(): Promise<PageAssets> {
  const script = await bundle('main.tsx');
  const style = await bundle('style.css');
  const named = [
    asset(`/ui/${hashed(script)}.js`, 'text/javascript; charset=utf-8', script),
    asset(`/ui/${hashed(style)}.css`, 'text/css; charset=utf-8', style),
  ] as const;
  const template = await readFile(`${FOLDER}/index.html`, 'utf8');
  const html = template
    .replace('%SCRIPT%', named[0].path)
    .replace('%STYLE%', named[1].path)
    .replace(/\n\s*/g, '');
  return { html: asset('/ui', 'text/html; charset=utf-8', html), named };
}

/** Writes what {@link buildPage} gives, whole or not at all: several processes may be at it. */
export async function writePage(): Promise<void> {
  const text = JSON.stringify(await buildPage());
  if ((await readFile(TARGET, 'utf8').catch(() => '')) === text) return;
  const partial = `${TARGET}.${process.pid}`;
  await writeFile(partial, text);
  await rename(partial, TARGET);
}

async function bundle(entry: string): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: FOLDER,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: 'esm',
    target: BROWSERS,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'silent',
    write: false,
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error(`esbuild gave nothing for ${entry}.`);
  return output.text;
}

function hashed(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function asset(path: string, contentType: string, text: string): PageAsset {
  const bytes = Buffer.from(text);
  return {
    path,
    contentType,
    etag: `"${hashed(text)}"`,
    gzip: gzipSync(bytes, { level: 9 }).toString('base64'),
    brotli: brotliCompressSync(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
    }).toString('base64'),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writePage();
