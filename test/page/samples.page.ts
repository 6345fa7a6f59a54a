import type { Locator, Page } from 'playwright-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { newClaimId } from '../../functions/client/claim-id.ts';
import type { Capacity, ClusterList, FitResponse, Histogram } from '../../functions/page/api/types.ts';
import { chromiumPath, newPage, overflowOf, useBrowser, violations } from './browser.ts';
import { api, mapEtag, push, pushAll, samples, serve } from './services.ts';

useBrowser();

let url: string;
let page: Page;
/** Of the map that the page is opened on. */
let etag: string;

describe.skipIf(chromiumPath === undefined)('On the samples the page', () => {
  beforeEach(async () => {
    ({ url } = await serve());
    await pushAll(url);
    etag = await mapEtag(url);
  });

  const open = async (fragment = '', options = {}): Promise<void> => {
    ({ page } = await newPage(options));
    await page.goto(`${url}/${fragment}`);
    await page.locator('#clusters tbody tr').first().waitFor();
    await page.locator('#models tbody tr').first().waitFor();
  };

  it('begins with how many clusters are in the map, as of when, and what is not well', async () => {
    await fetch(`${url}/v1/clusters/kops-l4?reason=maintenance`, { method: 'DELETE' });
    await open();

    const truth = page.locator('.truth');
    await expectText(truth, /^4 clusters in the map, as of \d+ s ago\./);
    await expectText(truth, /○ 1 out of the map \(unknown\)/);
    await truth.getByRole('link', { name: 'out of the map' }).click();

    await expectText(page.locator('#clusters tbody'), /^kops-l4/);
    expect(await page.locator('#clusters tbody tr').count()).toBe(1);
    expect(new URL(page.url()).hash).toBe('#state=out');
    const row = page.locator('[data-cluster="kops-l4"]');
    expect(await row.locator('[data-cell=state]').innerText()).toBe('○ out: maintenance');
    // Absent is not idle.
    expect(await row.locator('[data-cell=accelerators]').innerText()).toBe('unknown');
  });

  it('shows of models and regions what the API says, cell by cell', async () => {
    await open();
    const { groups } = await api<Capacity>(url, '/v1/capacity?group_by=accelerator_model&group_by=region');

    const expected = groups
      .filter(({ values, accelerators }) => values[0]?.value !== '' || accelerators !== '0')
      .map((group) => [
        group.values[0]?.value ?? '',
        group.values[1]?.value ?? '',
        free(group.free, group.eligibleFree),
        grouped(group.accelerators),
        grouped(mostFree(group.freeHistogramAfterClaims)),
        grouped(group.idleNodes),
        grouped(group.pendingDemand),
        grouped(group.deficit),
      ]);
    expect(expected.length).toBeGreaterThan(8);

    const shown: string[][] = [];
    for (const body of await page.locator('#models tbody').all()) {
      const model = (await body.getAttribute('data-model')) ?? '';
      for (const row of await body.locator('tr:not(.sum)').all()) {
        const cells = await texts(row, ['free', 'total', 'largest', 'idle', 'pending', 'deficit']);
        shown.push([model, (await row.getAttribute('data-row')) ?? '', ...cells]);
      }
    }
    expect(shown).toEqual(expected);
    expect(await mapEtag(url)).toBe(etag);
  });

  it('shows of clusters what the API says, cell by cell', async () => {
    await open();
    const { clusters } = await api<ClusterList>(url, '/v1/clusters');

    const rows = page.locator('#clusters tbody tr');
    expect(await rows.count()).toBe(clusters.length);
    for (const [i, { cluster, accelerators, warningCount }] of clusters.entries()) {
      const row = rows.nth(i);
      expect(await row.getAttribute('data-cluster')).toBe(cluster.clusterId);
      const [state, where, models, warnings] = await texts(row, [
        'state',
        'where',
        'accelerators',
        'warnings',
      ]);
      expect(state).toBe('● in the map');
      expect(where).toBe(
        [cluster.provider, cluster.region, cluster.site].filter(Boolean).join(' / ') || 'unknown',
      );
      expect(warnings).toBe(String(warningCount));
      const listed = accelerators
        .slice(0, 3)
        .map((each) => `${grouped(each.free)} of ${grouped(each.total)} ${each.model || '(no model)'}`);
      if (accelerators.length > 3) listed.push(`and ${accelerators.length - 3} more`);
      expect(models?.split('\n').filter(Boolean)).toEqual(listed);
    }
    expect(await mapEtag(url)).toBe(etag);
  });

  it('opens a cluster: node types as bars of nodes by free accelerators, equal to the API’s', async () => {
    await open('#cluster=openb-instant');
    await page.locator('#opened tbody tr').first().waitFor();
    const { targets } = await api<Capacity>(url, '/v1/capacity?cluster=openb-instant');

    const rows = page.locator('#opened tbody tr');
    expect(await rows.count()).toBe(targets.length);
    for (const [i, target] of targets.entries()) {
      const row = rows.nth(i);
      expect(await row.getAttribute('data-target')).toBe(`${target.poolId}/${target.nodeTypeId}`);
      const [nodes, freeText, pending, reserved, deficit] = await texts(row, [
        'nodes',
        'free',
        'pending',
        'reserved',
        'deficit',
      ]);
      expect([nodes, freeText, pending, reserved, deficit]).toEqual([
        grouped(target.nodes) + (target.pendingNodes ? ` (+${target.pendingNodes} on their way)` : ''),
        `${grouped(target.free)} of ${grouped(target.accelerators)}`,
        grouped(target.pendingDemand),
        grouped(target.reservedDemand),
        grouped(target.deficit),
      ]);
      if (target.acceleratorsPerNode === 0) continue;
      const [now, after] = await texts(row, ['histogram', 'histogram-after']);
      expect([now, after]).toEqual([
        nodesByFree(target.freeHistogram, target.nodes),
        nodesByFree(target.freeHistogramAfterDemand, target.nodes),
      ]);
    }
    expect(await mapEtag(url)).toBe(etag);
  });

  it('shows the claims of the opened cluster, and what is left after them', async () => {
    const id = newClaimId();
    const put = await fetch(`${url}/v1/claims/${id}?cluster=aicr-eks-h100`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        jobId: 'llama',
        ranks: [{ chains: 1, podRequirements: [{ acceleratorCount: 8 }] }],
        note: 'a test',
      }),
    });
    expect([put.status, await put.text()]).toEqual([201, expect.any(String)]);
    await open('#cluster=aicr-eks-h100');
    const claim = page.locator(`[data-claim="${id}"]`);
    await expectText(
      claim,
      /^held by \S+.* for llama, accepted \d+ s ago, 1 chain to start, until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/,
    );
    await page.locator('#opened tbody tr').first().waitFor();
    const { targets } = await api<Capacity>(url, '/v1/capacity?cluster=aicr-eks-h100');
    const [index] = targets.flatMap(({ claimed }, i) => (claimed === '8' ? [i] : []));
    const target = targets[index ?? -1];
    if (target === undefined) throw new Error('no target has the claim');
    const row = page.locator('#opened tbody tr').nth(index ?? -1);
    await expectText(
      row.locator('[data-cell=histogram-claims]'),
      nodesByFree(target.freeHistogramAfterClaims, target.nodes),
    );
    expect(await row.locator('[data-cell=free]').innerText()).toContain('(8 claimed)');

    await fetch(`${url}/v1/claims/${id}?cluster=aicr-eks-h100&reason=changed%20my%20mind`, {
      method: 'DELETE',
    });
    await expectText(claim, /^released by .* ended \d{4}.*: changed my mind/);
    expect(await violations(page)).toEqual([]);
  });

  it('shows the work of the opened cluster, from jobs to chains', async () => {
    await open('#cluster=aicr-eks-h100');

    const job = page.locator('[data-job="hpa-test/gpu-workload"]');
    await job.locator('summary').click();

    await expectText(job.locator('summary'), 'hpa-test/gpu-workload – running, 1 rank');
    await expectText(job.locator('li').first(), 'gpu-workload-86c75dcd97-2wk4f – running, 1 pod');
  });

  it('answers "does it fit?" with reason and candidates, and the link carries the question', async () => {
    await open();
    await page.getByLabel('Accelerators of each pod').fill('8,8');
    await page.locator('#fit').getByLabel('Model').fill('NVIDIA-H100-80GB-HBM3');
    await page.getByRole('button', { name: 'Ask' }).click();
    const asked = {
      shapes: [
        {
          podRequirements: [8, 8].map((acceleratorCount) => ({
            acceleratorCount,
            acceleratorModel: 'NVIDIA-H100-80GB-HBM3',
          })),
          chains: 1,
        },
      ],
      maxCandidates: 20,
    };
    const said = (await api<FitResponse>(url, '/v1/capacity/fit', asked)).shapes[0];

    await expectText(page.locator('#fit .verdict'), /^○ No, it does not fit now, as of \d+ s ago\./);
    expect(await page.locator('#fit .verdict').innerText()).toContain(said?.reason ?? 'no response');
    const candidates = page.locator('#fit tbody tr');
    expect(await candidates.count()).toBe(said?.candidates.length);
    expect(await candidates.first().innerText()).toContain(said?.candidates[0]?.reason);

    const link = page.url();
    const { page: another } = await newPage();
    await another.goto(link);
    await expectText(another.locator('#fit .verdict'), /^○ No, it does not fit now/);
  });

  it('says what is wrong with a question, and asks nothing', async () => {
    await open('#pods=8%2Cx');
    await expectText(
      page.locator('#fit [role=alert]'),
      '✕ A pod has "x" accelerators; give integers from 1 up, such as 8,8.',
    );
  });

  it('tells in its feed what changed while it was open', async () => {
    await open();
    const snapshot = samples().find(({ cluster }) => cluster.clusterId === 'aicr-eks-h100');
    if (snapshot === undefined) throw new Error('no sample');
    const type = snapshot.capacityPools[0]?.nodeTypes[0];
    if (type === undefined) throw new Error('no node type');
    const occupied = (type.inUse as unknown[])[0];
    type.inUse = [occupied, { externalAcceleratorsInUse: 5 }];
    await push(url, { ...snapshot, logicalCounter: '104' });
    await fetch(`${url}/v1/clusters/kops-l4?reason=maintenance`, { method: 'DELETE' });

    const feed = page.locator('#feed');
    await expectText(
      feed.locator('li.content'),
      /^\d\d:\d\d:\d\d UTC aicr-eks-h100 −5 free NVIDIA-H100-80GB-HBM3$/,
    );
    await expectText(
      feed.locator('li.out'),
      /kops-l4 is not in the map \(out: maintenance\); what it has is unknown$/,
    );
  });

  it('finds clusters by search, model, region and state, with the state of the view in the URL', async () => {
    await fetch(`${url}/v1/clusters/kops-l4?reason=maintenance`, { method: 'DELETE' });
    await open();
    const found = page.locator('#clusters [aria-live]');
    const filters = page.locator('#clusters form');
    const rows = async () =>
      page
        .locator('#clusters tbody tr')
        .evaluateAll((all) => all.map((row) => row.getAttribute('data-cluster')));
    await page.keyboard.press('/');
    await page.keyboard.type('L40S');
    await expectText(found, /^2 of 5 clusters/);
    await expect.poll(async () => (await rows()).length).toBe(2);
    expect(new URL(page.url()).hash).toBe('#search=L40S');

    await page.reload();
    await expectText(found, /^2 of 5 clusters/);
    expect(await page.getByLabel('Search').inputValue()).toBe('L40S');

    await page.getByLabel('Search').fill('');
    await expectText(found, /^5 clusters/);
    const { clusters } = await api<ClusterList>(url, '/v1/clusters');
    const idsOf = (matches: (each: ClusterList['clusters'][number]) => boolean) =>
      clusters.filter(matches).map(({ cluster }) => cluster.clusterId);
    const model = 'NVIDIA-H100-80GB-HBM3';
    const region =
      clusters.find(({ cluster }) => cluster.clusterId === 'aicr-eks-h100')?.cluster.region ?? '';
    for (const [label, choice, hash, expected] of [
      [
        'Model',
        model,
        `#model=${model}`,
        idsOf((each) => each.accelerators.some((one) => one.model === model)),
      ],
      ['Region', region, `#region=${region}`, idsOf(({ cluster }) => cluster.region === region)],
      ['State', 'out', '#state=out', ['kops-l4']],
    ] as const) {
      await filters.getByLabel(label).selectOption(choice);
      await expect.poll(rows).toEqual(expected);
      expect(new URL(page.url()).hash).toBe(hash);
      await page.locator('#clusters').getByRole('link', { name: 'Show all' }).click();
      await expectText(found, /^5 clusters/);
    }
  });

  it('works by keyboard: Enter opens a cluster, Escape closes it', async () => {
    await open();
    await page.locator('[data-cluster="kops-l4"] a').focus();
    await page.keyboard.press('Enter');
    await page.locator('#opened').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('#opened').waitFor({ state: 'detached' });
  });

  it.each([
    ['light', { colorScheme: 'light' }],
    ['dark', { colorScheme: 'dark' }],
    ['on a phone', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }],
  ] as const)('has nothing that axe objects to: %s', async (_, options) => {
    await open('#cluster=openb-instant&pods=8%2C8', options);
    await page.locator('#opened tbody tr').first().waitFor();
    await page.locator('#work details summary').first().click();
    await page.locator('#fit .verdict').waitFor();

    expect(await violations(page)).toEqual([]);
    expect(await overflowOf(page)).toBeLessThanOrEqual(0);
  });

  it('is at most 30 KB on the wire, all of it', async () => {
    ({ page } = await newPage());
    const sizes: number[] = [];
    page.on('response', (response) => {
      if (
        /^\/(ui\/.*)?$/.test(new URL(response.url()).pathname) &&
        response.request().resourceType() !== 'fetch'
      ) {
        sizes.push(Number(response.headers()['content-length']));
      }
    });
    await page.goto(url);
    await page.locator('#clusters tbody tr').first().waitFor();
    expect(sizes.length).toBe(3);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(30_000);
  });
});

async function texts(row: Locator, cells: readonly string[]): Promise<string[]> {
  const all = await Promise.all(cells.map((cell) => row.locator(`[data-cell=${cell}]`).innerText()));
  return all.map((text) => text.trim());
}

/** Waits until the text is there: nothing is asserted after a fixed time. */
async function expectText(locator: Locator, text: string | RegExp): Promise<void> {
  await expect.poll(() => locator.innerText(), { timeout: 20_000 }).toMatch(text);
}

/** The one format of numbers, written down a second time. */
function grouped(value: string | number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

function free(all: string, eligible: string): string {
  return all === eligible ? grouped(all) : `${grouped(all)} (${grouped(eligible)} open to new work)`;
}

function mostFree(histogram: Histogram): number {
  return Math.max(0, ...Object.keys(histogram).map(Number));
}

function nodesByFree(histogram: Histogram, nodes: number): string {
  const entries = Object.entries(histogram).sort(([a], [b]) => Number(b) - Number(a));
  const words = entries.map(([count, n]) => `${grouped(n)} × ${count} free`);
  const full = nodes - entries.reduce((sum, [, n]) => sum + Number(n), 0);
  if (full > 0) words.push(`${grouped(full)} × none free`);
  return words.join(', ') || 'no nodes';
}
