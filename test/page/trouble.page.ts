import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startService } from '../../functions/local/service.ts';
import type { ClusterList } from '../../functions/page/api/types.ts';
import { chromiumPath, newPage, useBrowser, violations } from './browser.ts';
import { push, pushAll, SILENT, samples, serve } from './services.ts';

useBrowser();

/** A thousand pushes take a busy machine a minute. */
const PUSHES_MS = 180_000;

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

  it(
    'of 1,000 clusters asks for the hundred that it shows, and for what changed',
    async () => {
      const { url } = await serve();
      const small = samples().find(({ cluster }) => cluster.clusterId === 'upcloud-l40s');
      if (small === undefined) throw new Error('no sample');
      const numbered = (i: number) => ({
        ...small,
        cluster: { ...small.cluster, clusterId: `c-${String(i).padStart(4, '0')}`, region: `r-${i % 20}` },
      });
      for (let from = 0; from < 1_000; from += 25) {
        await Promise.all(Array.from({ length: 25 }, (_, i) => push(url, numbered(from + i))));
      }
      const { page } = await newPage();
      const { asked, settle } = record(page);
      await page.goto(url);
      await page.locator('#clusters tbody tr').first().waitFor();
      await page.locator('#models tbody tr').first().waitFor();

      const rows = page.locator('#clusters tbody tr');
      expect(await rows.count()).toBe(100);
      expect(await page.locator('*').count()).toBeLessThan(5_000);
      expect(await page.locator('.truth').innerText()).toMatch(/^1,000 clusters in the map/);
      await settle();
      // A slow machine polls again meanwhile.
      const first = ['/v1/clusters?limit=100', '/v1/capacity?group_by=accelerator_model&group_by=region'].map(
        (path) => asked.find((each) => each.path === path),
      );
      expect(first[0]?.clusters).toBe(100);
      // On the wire, both responses; the whole list is ten times as much.
      expect(first.reduce((sum, each) => sum + (each?.bytes ?? Number.NaN), 0)).toBeLessThan(15_000);
      const others = asked.filter((each) => !first.some((one) => one?.path === each.path));
      expect(others.filter(({ path }) => !path.includes('changed_since='))).toEqual([]);

      await page.getByRole('button', { name: 'Show 100 more' }).click();
      await expect.poll(() => rows.count()).toBe(200);
      asked.length = 0;
      await page.getByLabel('Search').pressSequentially('c-0777');
      await expect.poll(() => rows.count()).toBe(1);
      await settle();
      const searches = asked.filter(({ path }) => path.includes('search='));
      expect(searches.at(-1)).toMatchObject({ path: '/v1/clusters?limit=100&search=c-0777', clusters: 1 });

      // A cluster that is not shown changes: its change is asked for, and nothing else of it.
      asked.length = 0;
      await fetch(`${url}/v1/clusters/c-0123?reason=maintenance`, { method: 'DELETE' });
      await expect
        .poll(() => page.locator('#feed li.out').innerText(), { timeout: 20_000 })
        .toMatch(/c-0123 is not in the map \(out: maintenance\); what it has is unknown$/);
      await settle();
      const changed = asked.filter(({ path }) => path.includes('changed_since='));
      expect(changed.flatMap(({ clusters }) => clusters ?? []).filter((count) => count > 0)).not.toEqual([]);
      expect(Math.max(...changed.map(({ clusters = 0 }) => clusters))).toBe(1);
      expect(await page.locator('.truth').innerText()).toMatch(/^999 clusters in the map/);
    },
    PUSHES_MS,
  );

  it('shows bundles with what they lack, and asks for them once they are opened', async () => {
    const { url } = await serve();
    await pushAll(url);
    const json = { 'content-type': 'application/json' };
    const put = async (path: string, body: unknown) => {
      const response = await fetch(`${url}${path}`, {
        method: 'PUT',
        headers: json,
        body: JSON.stringify(body),
      });
      expect([response.status, await response.text()]).toEqual([201, expect.any(String)]);
    };
    const pool = '<img src=x onerror=alert(1)>\u202egnp';
    const jobName = '<b>train<\uff0fb>\u2066';
    const bundle = (count: number) => ({
      pool,
      jobs: [
        {
          jobName,
          requirements: {
            requiredCapabilities: [{ name: 'resource-map/accelerator', count }],
            priorityBand: 'gold',
          },
        },
      ],
    });
    await put(`/v1/pools/${encodeURIComponent(pool)}`, {
      tiers: [{ tierName: 'all', cluster: { clusterId: ['aicr-eks-h100'] } }],
    });
    await put('/v1/bundles/placed-1', bundle(8));
    await put('/v1/bundles/waits-1', bundle(9));
    const { page } = await newPage();
    const { asked, settle } = record(page);
    await page.goto(url);
    await page.locator('#clusters tbody tr').first().waitFor();
    await settle();
    expect(asked.filter(({ path }) => path.startsWith('/v1/bundles'))).toEqual([]);

    await page.locator('#bundles').getByRole('link', { name: 'Show' }).click();
    const shown = page.locator('[data-bundle="placed-1"]');
    await expect
      .poll(() => shown.innerText())
      .toMatch(/^placed-1 live in pool <img src=x onerror=alert\(1\)>\\u202egnp, by /);
    expect(await shown.locator('[data-copy=primary]').innerText()).toMatch(
      /^primary \d+: placed for \d+ s\s+<b>train<／b>\\u2066 on aicr-eks-h100, .+ \/ .+, 8 accelerators$/,
    );
    expect(await page.locator('[data-bundle="waits-1"] [data-copy=primary]').innerText()).toMatch(
      /^primary \d+: pending for \d+ s.*<b>train<／b>\\u2066 has no place \(gpu\): .+/s,
    );
    expect(await page.locator('#bundles img, #bundles b').count()).toBe(0);
    expect(new URL(page.url()).hash).toBe('#bundles=');
    expect(await violations(page)).toEqual([]);

    await page.reload();
    await shown.waitFor();
  });
});

interface Asked {
  readonly path: string;
  readonly bytes: number;
  /** Of a list of clusters, how many it has. */
  readonly clusters?: number;
}

/** What the page asks of the API from now on. */
function record(page: Page): { readonly asked: Asked[]; settle(): Promise<void> } {
  const asked: Asked[] = [];
  const pending = new Set<Promise<void>>();
  page.on('requestfinished', (request) => {
    const { pathname, search } = new URL(request.url());
    if (!pathname.startsWith('/v1/')) return;
    const reading = (async () => {
      const response = await request.response();
      const { responseBodySize: bytes } = await request.sizes();
      const list = pathname === '/v1/clusters' ? ((await response?.json()) as ClusterList) : undefined;
      asked.push({
        path: pathname + search,
        bytes,
        ...(list === undefined ? {} : { clusters: list.clusters.length }),
      });
    })();
    pending.add(reading);
    void reading.finally(() => pending.delete(reading));
  });
  return {
    asked,
    settle: async () => {
      await Promise.all(pending);
    },
  };
}

interface Injected {
  readonly document: {
    createElement(tag: string): Record<'textContent' | 'src', string>;
    readonly body: { append(element: unknown): void };
  };
}

async function indexOf(page: Page, name: string): Promise<number> {
  const ids = await page
    .locator('#clusters tbody tr')
    .evaluateAll((rows) => rows.map((row) => row.getAttribute('data-cluster')));
  return ids.indexOf(name);
}
