/** The responses as a browser's fetch reads them: the one reader of gzip that nobody can replace. */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { engines, freshStore } from '../../engines/store.ts';
import { serveStore } from './service.ts';
import { clusterSnapshot } from './snapshots.ts';

/** Fetches the map as a scheduler's page would, and writes what came of it into the page. */
const PAGE = `<!doctype html><body><script type="module">
const read = async (accept) => {
  const response = await fetch('/v1/map', { headers: { accept } });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return [response.status, bytes.length, [...digest].map((b) => b.toString(16).padStart(2, '0')).join('')].join(' ');
};
const lines = [await read('application/x-protobuf'), await read('application/json')];
document.body.textContent = lines.join('\\n');
</script></body>`;

it('a browser’s fetch reads the spliced gzip of the map, in Protobuf and JSON, to the last byte', async (context) => {
  context.skip(spawnSync('chromium', ['--version']).status !== 0, 'chromium is not installed');
  const [engine] = engines;
  if (engine === undefined) throw new Error('no engine runs');
  const encodings: (string | null)[] = [];
  const service = await serveStore(await freshStore(engine), {}, (app) => {
    app.use('/v1/map', async (c, next) => {
      await next();
      encodings.push(c.res.headers.get('content-encoding'));
    });
    app.get('/page', (c) => c.html(PAGE));
  });
  onTestFinished(() => service.close());
  for (let index = 0; index < 20; index++) await service.client.push(clusterSnapshot(`cluster-${index}-😀`));
  const expected = await Promise.all(
    ['application/x-protobuf', 'application/json'].map(async (accept) => {
      const plain = await fetch(`${service.url}/v1/map`, {
        headers: { accept, 'accept-encoding': 'identity' },
      });
      const bytes = Buffer.from(await plain.arrayBuffer());
      return `200 ${bytes.length} ${createHash('sha256').update(bytes).digest('hex')}`;
    }),
  );
  encodings.length = 0;

  const dom = await dumpDom(`${service.url}/page`);

  expect(dom).toContain(expected.join('\n'));
  expect(encodings).toStrictEqual(['gzip', 'gzip']);
}, 120_000);

/** What the page holds once its scripts are done. */
async function dumpDom(url: string): Promise<string> {
  const profile = mkdtempSync(join(tmpdir(), 'rmap-browser-'));
  onTestFinished(() => rmSync(profile, { recursive: true, force: true }));
  const browser = spawn(
    'chromium',
    [
      '--headless',
      // Root, which CI is, has no sandbox of its own.
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      `--user-data-dir=${profile}`,
      '--virtual-time-budget=20000',
      '--dump-dom',
      url,
    ],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  let dom = '';
  browser.stdout.on('data', (chunk: Buffer) => {
    dom += chunk.toString();
  });
  await once(browser, 'close');
  return dom;
}
