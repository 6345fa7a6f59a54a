import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startService } from '../../functions/local/service.ts';
import { chromiumPath, newPage, useBrowser, violations } from './browser.ts';
import { push, pushAll, SILENT, samples, serve } from './services.ts';

useBrowser();

/** Names that are markup, that control a terminal or a text's direction, and one that is merely long. */
const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(1)</script>',
  'javascript:alert(1)',
  '{{constructor.constructor("alert(1)")()}}',
  'cluster-\u202egnp.exe',
  'مجموعة-١',
  'zero\u200bwidth',
  'a&amp;b',
  `long-${'x'.repeat(230)}`,
];

describe.skipIf(chromiumPath === undefined)('In trouble the page', () => {
  it('shows hostile names as text, each one apart from the others', async () => {
    const { url } = await serve();
    const [sample] = samples();
    if (sample === undefined) throw new Error('no sample');
    for (const name of HOSTILE) {
      await push(url, {
        ...sample,
        cluster: {
          clusterId: name,
          displayName: `<b>${name}`.slice(0, 100),
          provider: '<i>p',
          region: name.slice(0, 60),
        },
      });
    }
    const { page } = await newPage();
    page.on('dialog', () => expect.fail('A name ran as a script.'));
    await page.goto(url);
    await page.locator('#clusters tbody tr').first().waitFor();

    const shown = await page.locator('#clusters tbody th bdi').allInnerTexts();
    for (const name of HOSTILE) {
      const visible = name.replace(
        /[\u202e\u200b]/g,
        (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
      );
      expect(shown).toContain(visible);
    }
    expect(await page.locator('#clusters img, #clusters script, #clusters b').count()).toBe(0);
    const links = await page
      .locator('a')
      .evaluateAll((all) => all.map((a) => (a as unknown as { protocol: string }).protocol));
    expect(new Set(links)).toEqual(new Set(['http:']));

    for (const name of HOSTILE) {
      await page
        .locator('#clusters tbody tr')
        .nth(await indexOf(page, name))
        .locator('a')
        .click();
      await expect.poll(() => page.locator('#opened dl').count()).toBe(1);
      await page.keyboard.press('Escape');
    }
    expect(await violations(page)).toEqual([]);
  });

  it('runs under its policy: a script, a style and an image from outside would each be reported', async () => {
    const { url } = await serve();
    const { page, faults } = await newPage();
    await page.goto(url);
    await page.locator('#clusters h2').waitFor();
    expect(faults).toEqual([]);
    await page.evaluate(() => {
      const { document } = globalThis as unknown as Injected;
      for (const [tag, attribute, value] of [
        ['script', 'textContent', 'alert(1)'],
        ['style', 'textContent', 'a { color: red }'],
        ['img', 'src', 'https://example.invalid/x.png'],
      ] as const) {
        const element = document.createElement(tag);
        try {
          element[attribute] = value;
        } catch {
          // Trusted types refuse a script's text before there is a script.
        }
        document.body.append(element);
      }
    });
    const reported = () => faults.filter((each) => each.startsWith('policy: ')).sort();
    await expect
      .poll(reported)
      .toEqual([
        'policy: img-src https://example.invalid/x.png',
        'policy: require-trusted-types-for trusted-types-sink',
        'policy: style-src-elem inline',
      ]);
    faults.length = 0;
  });

  it('shows a refused agent, and a cluster that never had a snapshot accepted', async () => {
    const { url } = await serve();
    const [first, second] = samples();
    if (first === undefined || second === undefined) throw new Error('no samples');
    const twice = (sample: typeof first): typeof first => ({
      ...sample,
      logicalCounter: String(BigInt(sample.logicalCounter) + 1n),
      capacityPools: [...sample.capacityPools, ...sample.capacityPools],
    });
    await push(url, first);
    await push(url, twice(first), undefined, [422]);
    await push(url, twice(second), undefined, [422]);
    const { page } = await newPage();
    await page.goto(url);

    const row = (sample: typeof first) => page.locator(`[data-cluster="${sample.cluster.clusterId}"]`);
    await expect
      .poll(() => row(first).locator('[data-cell=refusal]').innerText())
      .toMatch(/^✕ duplicate_pool_id, \d+ s ago$/);
    expect(await row(first).locator('[data-cell=state]').innerText()).toBe('● in the map');
    expect(await row(second).locator('[data-cell=state]').innerText()).toBe('○ no snapshot accepted yet');
    expect(await row(second).locator('[data-cell=accelerators]').innerText()).toBe('unknown');
    expect(await page.locator('.truth').innerText()).toContain('✕ 2 with a refused agent');
    await row(second).locator('a').click();
    await expect
      .poll(() => page.locator('#opened .refused').innerText())
      .toMatch(
        /^✕ The agent was refused at \d{4}-\d\d-\d\d .* UTC \(\d+ s ago\): duplicate_pool_id .+ \(refused since the last accepted push: 1\)$/,
      );
    expect(await page.locator('#opened table').count()).toBe(0);
    expect(await violations(page)).toEqual([]);

    // The agent's next good snapshot ends both.
    await push(url, second);
    await expect
      .poll(() => row(second).locator('[data-cell=state]').innerText(), { timeout: 20_000 })
      .toBe('● in the map');
    expect(await row(second).locator('[data-cell=refusal]').innerText()).toBe('');
    await expect.poll(() => page.locator('#feed li.returned').count(), { timeout: 20_000 }).toBe(1);
  });

  it('keeps what it shows, dated, while the service is away, and goes on when it is back', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rmap-page-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const options = { engine: { kind: 'folder', folder }, host: '127.0.0.1', telemetry: SILENT } as const;
    let service = await startService({ ...options, port: 0 });
    onTestFinished(() => service.close());
    await pushAll(service.url);
    const { page } = await newPage();
    await page.goto(service.url);
    await page.locator('#clusters tbody tr').first().waitFor();
    await page.locator('#models tbody tr').first().waitFor();

    const port = Number(new URL(service.url).port);
    await service.close();
    await expect
      .poll(() => page.locator('.truth .fault').innerText(), { timeout: 20_000 })
      .toMatch(/^✕ The service gives no response\. What is shown is \d+ s old; the page tries again\.$/);
    expect(await page.locator('#clusters tbody tr').count()).toBe(5);
    await expect.poll(() => page.locator('#models .fault').count(), { timeout: 20_000 }).toBe(1);
    expect(await page.locator('#models tbody tr').count()).toBeGreaterThan(8);

    service = await startService({ ...options, port });
    await expect.poll(() => page.locator('.fault').count(), { timeout: 30_000 }).toBe(0);
  });

  it('shows 1,000 clusters a hundred at a time, and finds one of them', async () => {
    const { url } = await serve();
    const small = samples().find(({ cluster }) => cluster.clusterId === 'upcloud-l40s');
    if (small === undefined) throw new Error('no sample');
    for (let from = 0; from < 1_000; from += 25) {
      await Promise.all(
        Array.from({ length: 25 }, (_, i) =>
          push(url, {
            ...small,
            cluster: { ...small.cluster, clusterId: `c-${String(from + i).padStart(4, '0')}` },
          }),
        ),
      );
    }
    const { page } = await newPage();
    await page.goto(url);
    await page.locator('#clusters tbody tr').first().waitFor();

    expect(await page.locator('#clusters tbody tr').count()).toBe(100);
    expect(await page.locator('*').count()).toBeLessThan(5_000);
    await page.getByRole('button', { name: 'Show 100 more' }).click();
    await expect.poll(() => page.locator('#clusters tbody tr').count()).toBe(200);
    await page.getByLabel('Search').fill('c-0777');
    await expect.poll(() => page.locator('#clusters tbody tr').count()).toBe(1);
  });
});

interface Injected {
  readonly document: {
    createElement(tag: string): Record<'textContent' | 'src', string>;
    readonly body: { append(element: unknown): void };
  };
}

async function indexOf(page: import('playwright-core').Page, name: string): Promise<number> {
  const ids = await page
    .locator('#clusters tbody tr')
    .evaluateAll((rows) => rows.map((row) => row.getAttribute('data-cluster')));
  return ids.indexOf(name);
}
