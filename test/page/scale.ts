/**
 * `npm run scale:page -- [CLUSTERS]`: what the page costs a browser with very many clusters. By
 * hand: pushing 10,000 takes minutes, and times are of the machine that it runs on.
 */
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { startService } from '../../functions/local/service.ts';
import { writePage } from '../../functions/page/build.ts';
import { push, SILENT, samples } from './services.ts';

const [count = 10_000] = process.argv.slice(2).map(Number);

interface Measured {
  readonly PerformanceObserver: new (
    use: (list: { getEntries(): readonly { readonly duration: number }[] }) => void,
  ) => { observe(options: { type: 'longtask'; buffered: true }): void };
  longest: number;
}

const chromiumPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
if (chromiumPath === undefined) throw new Error('No chromium is installed; apt-get install chromium.');
await writePage();
const service = await startService({
  engine: { kind: 'memory' },
  port: 0,
  host: '127.0.0.1',
  telemetry: SILENT,
});
const browser = await chromium.launch({
  executablePath: chromiumPath,
  args: ['--no-sandbox', '--disable-gpu'],
});
try {
  const small = samples().find(({ cluster }) => cluster.clusterId === 'upcloud-l40s');
  if (small === undefined) throw new Error('no sample');
  for (let from = 0; from < count; from += 25) {
    await Promise.all(
      Array.from({ length: 25 }, (_, i) =>
        push(service.url, {
          ...small,
          cluster: {
            ...small.cluster,
            clusterId: `c-${String(from + i).padStart(5, '0')}`,
            region: `region-${(from + i) % 20}`,
          },
        }),
      ),
    );
  }
  const page = await browser.newPage();
  let received = 0;
  page.on('response', (response) => {
    received += Number(response.headers()['content-length'] ?? 0);
  });
  await page.addInitScript(() => {
    const tab = globalThis as unknown as Measured;
    tab.longest = 0;
    const observer = new tab.PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) tab.longest = Math.max(tab.longest, duration);
    });
    observer.observe({ type: 'longtask', buffered: true });
  });
  const longest = async () => {
    const ms = await page.evaluate(() => {
      const tab = globalThis as unknown as Measured;
      const { longest } = tab;
      tab.longest = 0;
      return longest;
    });
    return Math.round(ms);
  };
  const row = page.locator('#clusters tbody tr');

  const opened = performance.now();
  await page.goto(service.url);
  await row.first().waitFor();
  const first = performance.now() - opened;
  await page.locator('#models tbody tr').first().waitFor();
  const all = performance.now() - opened;
  console.log(
    `${count} clusters: first table after ${first.toFixed(0)} ms, models after ${all.toFixed(0)} ms, longest task ${await longest()} ms, ${await page.locator('*').count()} DOM nodes, ${(received / 1_000).toFixed(0)} KB on the wire.`,
  );
  const sought = performance.now();
  await page.getByLabel('Search').fill('c-00777');
  await row.nth(1).waitFor({ state: 'detached' });
  console.log(
    `Search: ${(performance.now() - sought).toFixed(0)} ms, longest task ${await longest()} ms, ${await page.locator('*').count()} DOM nodes.`,
  );
  await page.getByLabel('Search').fill('');
  await row.nth(1).waitFor();
  await longest();
  const polled = page.waitForResponse((response) => new URL(response.url()).pathname === '/v1/clusters', {
    timeout: 200_000,
  });
  const { status } = await fetch(`${service.url}/v1/clusters/c-00001?reason=test`, { method: 'DELETE' });
  if (status !== 200) throw new Error(`The cluster is not omitted: ${status}.`);
  await polled;
  await page.locator('#feed li').first().waitFor();
  console.log(`A poll with a change: longest task ${await longest()} ms.`);
} finally {
  await browser.close();
  await service.close();
}
