/** `npm run docs:screenshot`: the page on the samples, as README shows it. */
import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { startService } from '../../functions/local/service.ts';
import { writePage } from '../../functions/page/build.ts';

import { pushAll } from './services.ts';

const TARGET = fileURLToPath(new URL('../../docs/page.png', import.meta.url));

const chromiumPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
if (chromiumPath === undefined) throw new Error('No chromium is installed; apt-get install chromium.');
await writePage();
const service = await startService({ engine: { kind: 'memory' }, port: 0, host: '127.0.0.1' });
const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] });
try {
  await pushAll(service.url);
  const page = await browser.newPage({ viewport: { width: 1_080, height: 900 }, colorScheme: 'light' });
  await page.goto(`${service.url}/#pods=8&fit-model=NVIDIA-H100-80GB-HBM3`);
  await page.locator('#models tbody tr').first().waitFor();
  await page.locator('#fit .verdict').waitFor();
  await page.locator('#clusters tbody tr').first().waitFor();
  await page.screenshot({ path: TARGET });
} finally {
  await browser.close();
  await service.close();
}
process.stdout.write(`${TARGET}: ${statSync(TARGET).size} bytes\n`);
