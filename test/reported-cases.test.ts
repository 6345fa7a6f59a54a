/**
 * Inputs that once got a wrong or unfriendly response, over HTTP as they were reported. Each stands for
 * its kind, which has tests of its own beside the code.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { createInterface } from 'node:readline';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BundleService, startBundleService } from './lambdas/plan/bundle-service.ts';

let service: BundleService;
beforeAll(async () => {
  service = await startBundleService();
});
afterAll(() => service.close());

const fileOf = (name: string): Buffer =>
  readFileSync(new URL(`data/reported-cases/${name}`, import.meta.url));

/** The snapshot as text, of a cluster of its own, collected now. */
function snapshot(name: string, clusterId: string, counter = '1'): string {
  return fileOf(name)
    .toString()
    .replaceAll('"case"', JSON.stringify(clusterId))
    .replace(/"logicalCounter": ?"1"/, `"logicalCounter":"${counter}"`)
    .replace('2026-01-01T00:00:00Z', new Date().toISOString());
}

async function push(clusterId: string, body: string, query = '') {
  const response = await fetch(`${service.url}/v1/clusters/${clusterId}/snapshot${query}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body,
  });
  // biome-ignore lint/suspicious/noExplicitAny: the cases say what they expect of it.
  return { status: response.status, body: (await response.json()) as any };
}

async function fitOf(clusterId: string, podRequirements: readonly object[], chains?: number) {
  const { body } = await service.call('POST', '/v1/capacity/fit', {
    filter: { cluster: [clusterId] },
    shapes: [{ podRequirements, ...(chains === undefined ? {} : { chains }) }],
  });
  return body.shapes[0];
}

describe('Reported', () => {
  it.each(['duplicate-json-names', 'duplicate-json-spellings'])(
    '%s: a field that is given twice is rejected, under one name as under two',
    async (name) => {
      const { status, body } = await push(name, snapshot(`${name}.json`, name), '?strict=true');
      expect([status, body.code]).toEqual([400, 'malformed_json']);
      expect(body.detail).toContain('given twice');
    },
  );

  it('first-counter-locks-out: a corrupt first counter is rejected, and locks nothing', async () => {
    const corrupt = await push('lock', snapshot('small.json', 'lock', '18446744073709551614'));
    expect([corrupt.status, corrupt.body.findings.map((f: { code: string }) => f.code)]).toEqual([
      422,
      ['counter_jump'],
    ]);
    expect((await push('lock', snapshot('small.json', 'lock', '1'))).status).toBe(200);
    // Where it was meant, no advice is given that cannot be followed.
    await push('lock-2', snapshot('small.json', 'lock-2', '18446744073709551614'), '?allow_jump=true');
    const { status, body } = await push('lock-2', snapshot('small.json', 'lock-2', '1'));
    expect([status, body.code, body.highWaterMark]).toEqual([
      409,
      'counter_regressed',
      '18446744073709551614',
    ]);
    expect(body.detail).not.toContain('18446744073709551615');
    expect(body.detail).toContain('another id');
  });

  it('follow-on-findings: the rules say what they need before they look', async () => {
    const cases = JSON.parse(fileOf('follow-on-findings.json').toString()) as Record<string, object>;
    const codes: Record<string, readonly string[]> = {};
    for (const [name, body] of Object.entries(cases)) {
      const { status, body: problem } = await push('follow', JSON.stringify(body));
      expect(status).toBe(422);
      codes[name] = [...new Set<string>(problem.findings.map((f: { code: string }) => f.code))];
    }
    expect(codes).toEqual({
      a: ['unknown_allocation', 'running_without_allocation'],
      b: ['allocation_count_mismatch', 'unknown_requirement_target', 'running_without_allocation'],
    });
    const rules = readFileSync(new URL('../docs/rules.md', import.meta.url), 'utf8').split('\n');
    const rule = (code: string): string => rules.find((line) => line.startsWith(`| \`${code}\``)) ?? '';
    expect(rule('duplicate_allocation')).toContain('Needs an allocation that names a pod which is there');
    expect(rule('allocation_off_target')).toContain('Needs an allocation that names a pod which is there');
  });

  it('identity-value-cut-at-253: a long region is warned of, and matched whole', async () => {
    const text = snapshot('long-region.json', 'cut');
    const region = JSON.parse(text).cluster.region as string;
    const { status, body } = await push('cut', text);
    expect([status, body.warnings.map((f: { code: string }) => f.code)]).toEqual([
      200,
      ['identity_too_long'],
    ]);
    const isIn = async (path: string, of: string): Promise<boolean> =>
      JSON.stringify((await service.call('GET', `${path}?region=${of}`)).body).includes('"cut"');
    for (const path of ['/v1/map', '/v1/capacity']) {
      expect([path, await isIn(path, region)]).toEqual([path, true]);
      expect([path, await isIn(path, region.slice(0, 253))]).toEqual([path, false]);
    }
  });

  it('models-cut-from-head: filters are exact, and the event names a model that the head left out', async () => {
    expect((await push('mig', snapshot('many-models-busy.json', 'mig'))).status).toBe(200);
    const request = get(`${service.url}/local/events`);
    const [events] = await once(request, 'response');
    for (const each of [events, request]) each.on('error', () => undefined);
    const lines = createInterface({ input: events });
    lines.on('error', () => undefined);
    const freed = (async () => {
      for await (const line of lines) {
        if (!line.startsWith('data: ')) continue;
        const { detail } = JSON.parse(line.slice('data: '.length));
        if (detail.clusterId === 'mig' && detail.logicalCounter === '2') return detail.acceleratorsFreed;
      }
    })();
    expect((await push('mig', snapshot('many-models-free.json', 'mig', '2'))).status).toBe(200);
    expect(await freed).toEqual(['NVIDIA-H200']);
    request.destroy();
    for (const path of ['/v1/map', '/v1/map/clock', '/v1/capacity', '/v1/clusters']) {
      const { body } = await service.call('GET', `${path}?accelerator_model=AMD-MI300X`);
      expect([path, JSON.stringify(body).includes('mig')]).toEqual([path, false]);
    }
  });

  it('pending-nodes-vanish-from-scale-out: nodes that are ordered still come', async () => {
    const answers = [];
    for (const [i, name] of ['scale-out-before', 'scale-out-ordered'].entries()) {
      await push('coming', snapshot(`${name}.json`, 'coming', String(i + 1)));
      const { fitsWithScaleOut, maxChainsWithScaleOut } = (
        await fitOf('coming', [{ acceleratorCount: 8 }], 3)
      ).candidates[0];
      answers.push([fitsWithScaleOut, maxChainsWithScaleOut]);
    }
    expect(answers).toEqual([
      [true, '3'],
      [true, '3'],
    ]);
  });

  it.each(['owed-to-pending', 'owed-to-reserved'])(
    'plan-takes-owed-nodes: %s, fit and plan agree',
    async (name) => {
      await push(name, snapshot(`${name}.json`, name));
      await service.call('PUT', `/v1/pools/${name}`, { tiers: [{ cluster: { clusterId: [name] } }] });
      const shape = await fitOf(name, [{ acceleratorCount: 8 }]);
      expect([shape.fits, shape.reason]).toEqual([
        false,
        expect.stringContaining('before demand that comes first: 1 pod of 8'),
      ]);
      const request = JSON.parse(fileOf('owed-plan.json').toString().replace('"case"', JSON.stringify(name)));
      const [bundle] = (await service.call('POST', '/v1/bundles/plan', request)).body.bundles;
      expect(bundle.outcome).toBe('unplaced');
      expect(bundle.message).toContain('demand');
    },
  );

  it('pool-etag-behind-gzip-proxy: a 412 for a weak tag says what weakened it', async () => {
    const pool = { tiers: [{ tierName: 'own', cluster: {} }] };
    const { headers } = await service.call('PUT', '/v1/pools/px', pool);
    const weak = `W/${headers.get('etag')}`;
    const { status, body } = await service.call('PUT', '/v1/pools/px', pool, { 'if-match': weak });
    // The pool is what was sent: the same again is a success.
    expect(status).toBe(200);
    const other = { tiers: [{ tierName: 'other', cluster: {} }] };
    const refused = await service.call('PUT', '/v1/pools/px', other, { 'if-match': weak });
    expect([refused.status, refused.body.code]).toEqual([412, 'pool_changed']);
    expect(refused.body.detail).toContain('weak');
    expect(body.etag).toBe(headers.get('etag'));
  });

  it('prefer-wait-ten-digits: a wait of any length is a wait', async () => {
    await push('wait', snapshot('small.json', 'wait'));
    const waiting = fetch(`${service.url}/v1/map/sync`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', prefer: 'wait=2147483647' },
      body: '{"vectorClock":{"wait":"1"},"filter":{"cluster":["wait"]}}',
    });
    // A response that is not held has come by the time that the next one has.
    await service.call('GET', '/v1/map/clock');
    await push('wait', snapshot('small.json', 'wait', '2'));
    const response = await waiting;
    expect(response.headers.get('preference-applied')).toBe('wait=25');
    expect(await response.json()).toMatchObject({ refreshed: [{ clusterId: 'wait' }] });
  });

  it('scale-out-no-then-yes: what is said of a node that may come is what is said once it is there', async () => {
    const reported = JSON.parse(fileOf('scale-out-no-then-yes.json').toString());
    await push('scale', JSON.stringify(reported.push));
    const [before] = (await service.call('POST', '/v1/capacity/fit', reported.fit)).body.shapes[0].candidates;
    expect([before.fits, before.fitsWithScaleOut, before.maxChainsWithScaleOut]).toEqual([false, true, '1']);
    await push('scale', JSON.stringify(reported['push once the node exists']));
    const [then] = (await service.call('POST', '/v1/capacity/fit', reported.fit)).body.shapes[0].candidates;
    expect(then.fits).toBe(true);
  });

  it('warnings-hide-the-reject: the reject is among the findings', async () => {
    const { status, body } = await push(
      'c1',
      gunzipSync(fileOf('warnings-hide-the-reject.json.gz')).toString(),
    );
    expect([status, body.findings.length]).toEqual([422, 1_000]);
    expect(body.findings.filter((f: { severity: string }) => f.severity === 'reject')).toHaveLength(1);
  });
});
