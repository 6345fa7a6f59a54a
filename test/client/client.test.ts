import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createAccessClient } from '../../functions/client/access-client.ts';
import { type Client, createClient } from '../../functions/client/client.ts';
import { ApiError, ConnectionError, UnexpectedResponseError } from '../../functions/client/errors.ts';
import type { RetryWait } from '../../functions/client/transport.ts';
import {
  ClusterIdentitySchema,
  InstalledComponentSchema,
} from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { ClusterState, PushOutcome } from '../../functions/gen/resourcemap/v1/service_pb.ts';
import { engines, freshStore } from '../engines/store.ts';
import { serveStore, type TestService } from '../lambdas/map/service.ts';
import { clusterSnapshot } from '../lambdas/map/snapshots.ts';
import { type FaultyProxy, startFaultyProxy } from './faulty-proxy.ts';

const RETRY = { attempts: 4, baseMs: 1, capMs: 2 };

const [dynalite] = engines;
if (dynalite === undefined) throw new Error('no engine runs');

let service: TestService;
let proxy: FaultyProxy;
let client: Client;
beforeAll(async () => {
  service = await serveStore(await freshStore(dynalite));
  proxy = await startFaultyProxy(service.url);
  client = createClient({ baseUrl: proxy.url, retry: RETRY });
});
beforeEach(() => {
  proxy.fates.length = 0;
  proxy.seen.length = 0;
});
afterAll(async () => {
  await proxy.close();
  await service.close();
});

describe('a push', () => {
  it('whose request was lost is sent again', async () => {
    proxy.fates.push('lose-request');
    const result = await client.push(clusterSnapshot('lost-request'));
    expect(result.outcome).toBe(PushOutcome.PUBLISHED);
    expect(proxy.seen).toHaveLength(2);
  });

  it.each(['lose-answer', 'break-answer'] as const)(
    'is sent again after %s, and finds itself accepted',
    async (fate) => {
      proxy.fates.push(fate);
      const result = await client.push(clusterSnapshot(fate));
      expect(result.outcome).toBe(PushOutcome.ALREADY_PUBLISHED);
      expect(result.logicalCounter).toBe(1n);
    },
  );

  it.each([429, 500, 502, 503, 504, 408])('is sent again after %i', async (status) => {
    proxy.fates.push({ status, body: '<html>busy</html>' });
    await client.push(clusterSnapshot(`status-${status}`));
    expect(proxy.seen).toHaveLength(2);
  });

  it.each([429, 503])('waits for as long as Retry-After says at %i', async (status) => {
    proxy.fates.push({ status, headers: { 'retry-after': '1' } });
    const startedMs = performance.now();
    await client.push(clusterSnapshot(`retry-after-${status}`));
    expect(proxy.seen).toHaveLength(2);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(990);
  });

  it('gives up after its tries, with the reason of the last', async () => {
    proxy.fates.push(...Array.from({ length: 4 }, () => 'lose-request' as const));
    const failure = await client.push(clusterSnapshot('given-up')).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ConnectionError);
    expect(String(failure)).toMatch(
      /^ConnectionError: \[connection_failed\] PUT http:\/\/127\.0\.0\.1:\d+\/v1\/clusters\/given-up\/snapshot: /,
    );
    expect(proxy.seen).toHaveLength(4);
  });

  it('that is refused is not sent again, and says every rule that it breaks', async () => {
    const snapshot = clusterSnapshot('refused');
    snapshot.logicalCounter = 0n;
    snapshot.cluster = create(ClusterIdentitySchema, { clusterId: 'refused', displayName: 'x\u0000' });
    const failure = await client.push(snapshot).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ApiError);
    expect(failure).toMatchObject({
      status: 422,
      code: 'invalid_snapshot',
      message: expect.stringMatching(/^\[invalid_snapshot\] The snapshot breaks /),
      problem: {
        findings: expect.arrayContaining([
          expect.objectContaining({ code: 'missing_counter', severity: 'reject' }),
        ]),
      },
    });
    expect(proxy.seen).toHaveLength(1);
  });

  it('below the mark fails with the mark', async () => {
    await client.push(clusterSnapshot('regressed', { counter: 10n }));
    await expect(client.push(clusterSnapshot('regressed', { counter: 3n }))).rejects.toMatchObject({
      status: 409,
      code: 'counter_regressed',
      problem: { highWaterMark: 10n },
    });
  });

  it('of an agent that lost its counter goes on above the mark', async () => {
    await client.push(clusterSnapshot('restarted', { counter: 10n }));
    for (const counter of [3n, 11n]) {
      const marks: bigint[] = [];
      const result = await client.push(
        clusterSnapshot('restarted', { counter, nodes: Number(counter) + 5 }),
        {
          onCounterConflict: (mark) => {
            marks.push(mark);
            return mark + 1n;
          },
        },
      );
      const expected = counter === 3n ? 10n : 11n;
      expect(marks).toStrictEqual([expected]);
      expect(result.logicalCounter).toBe(expected + 1n);
    }
  });

  it('fails where the agent gives no other counter, or another conflict follows', async () => {
    await client.push(clusterSnapshot('conflict', { counter: 10n }));
    const stale = clusterSnapshot('conflict', { counter: 3n });
    await expect(client.push(stale, { onCounterConflict: () => undefined })).rejects.toThrow(
      '[counter_regressed]',
    );
    await expect(client.push(stale, { onCounterConflict: () => 4n })).rejects.toThrow('[counter_regressed]');
    expect(stale.logicalCounter).toBe(3n);
  });

  it('carries its token, asked for again at each try', async () => {
    let asked = 0;
    const withToken = createClient({
      baseUrl: proxy.url,
      retry: RETRY,
      token: async () => `token-${++asked}`,
    });
    proxy.fates.push({ status: 503 });
    await withToken.push(clusterSnapshot('token'));
    expect(proxy.seen.map((request) => request.headers.authorization)).toStrictEqual([
      'Bearer token-1',
      'Bearer token-2',
    ]);
  });

  it('is compressed where that is worth it', async () => {
    const large = clusterSnapshot('large');
    for (let index = 0; index < 100; index++) {
      large.installedComponents.push(
        create(InstalledComponentSchema, { name: `component-${index}`, version: '1' }),
      );
    }
    await client.push(clusterSnapshot('small'));
    await client.push(large);
    expect(proxy.seen.map((request) => request.headers['content-encoding'])).toStrictEqual([
      undefined,
      'gzip',
    ]);
  });

  it('tells of a wait before it begins, with the time and the reason', async () => {
    const waits: RetryWait[] = [];
    const reported = createClient({ baseUrl: proxy.url, retry: RETRY, onWait: (wait) => waits.push(wait) });
    proxy.fates.push({
      status: 503,
      headers: { 'retry-after': '1' },
      body: JSON.stringify({ code: 'issuer_unreachable', detail: 'No keys.' }),
    });
    await reported.push(clusterSnapshot('told'));
    expect(waits).toEqual([{ ms: 1_000, error: expect.any(ApiError) }]);
    expect(waits[0]?.error.message).toBe('[issuer_unreachable] No keys.');
  });

  it.each([
    ['86400', 60_000],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 60_000],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
    ['-5', 0],
    ['soon', 0],
  ])('waits for no longer than a minute, whatever Retry-After says: %s', async (header, ms) => {
    proxy.fates.push({ status: 503, headers: { 'retry-after': header } });
    const controller = new AbortController();
    const waits: RetryWait[] = [];
    const impatient = createClient({
      baseUrl: proxy.url,
      retry: { attempts: 2, baseMs: 0, capMs: 0 },
      onWait: (wait) => {
        waits.push(wait);
        controller.abort();
      },
    });
    const pushed = impatient.push(clusterSnapshot('patient'), { signal: controller.signal });
    await expect(pushed).rejects.toThrow('This operation was aborted');
    expect(waits).toMatchObject([{ ms }]);
  });

  it('ends with its signal’s reason, while it waits to try again', async () => {
    proxy.fates.push({ status: 503, headers: { 'retry-after': '30' } });
    const reason = new Error('the agent stops');
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), 50);
    await expect(client.push(clusterSnapshot('aborted'), { signal: controller.signal })).rejects.toBe(reason);
  });
});

describe('a cluster', () => {
  it.each([
    'a/b',
    'per%cent',
    'que&stion=mark',
    '😀',
    'arn:aws:eks:eu-west-1:1:cluster/a',
    '..a',
    'sp ace+plus',
  ])('named %s can be pushed, read, listed and omitted', async (id) => {
    const snapshot = clusterSnapshot(id);
    await client.push(snapshot);
    expect(await client.snapshot(id)).toStrictEqual(snapshot);
    expect((await client.cluster(id)).state).toBe(ClusterState.INCLUDED);
    expect((await client.clock()).get(id)).toBe(1n);
    expect((await client.omit(id)).state).toBe(ClusterState.OMITTED);
    const listed = (await client.clusters()).find((each) => each.cluster?.clusterId === id);
    expect(listed?.state).toBe(ClusterState.OMITTED);
    await expect(client.snapshot(id)).rejects.toMatchObject({ status: 404, code: 'cluster_omitted' });
  });
});

describe('a validation', () => {
  it('says what is wrong with a snapshot, and stores nothing', async () => {
    expect(await client.validate(clusterSnapshot('validated'))).toMatchObject({ valid: true, findings: [] });
    const wrong = await client.validate(clusterSnapshot('validated', { counter: 0n }), { strict: true });
    expect(wrong.valid).toBe(false);
    expect(wrong.findings.map((finding) => finding.code)).toContain('missing_counter');
    await expect(client.cluster('validated')).rejects.toMatchObject({ code: 'cluster_not_found' });
  });
});

describe('a base URL', () => {
  it('keeps its path', async () => {
    const staged = createClient({ baseUrl: `${proxy.url}/stage/`, retry: RETRY });
    await expect(staged.clusters()).rejects.toMatchObject({ status: 404, code: 'not_found' });
    expect(proxy.seen.map((request) => request.url)).toStrictEqual(['/stage/v1/clusters']);
  });

  it.each([
    [
      'a page',
      { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>' },
      'the Content-Type is text/html, not application/x-protobuf',
    ],
    [
      'what is no message',
      { status: 200, headers: { 'content-type': 'application/x-protobuf' }, body: '\u0007' },
      'the body is no resourcemap.v1.ClusterList',
    ],
    [
      'a redirect',
      { status: 302, headers: { location: 'http://example.com/' } },
      'the response is 302 without problem details',
    ],
    ['another 404', { status: 404, body: 'not here' }, 'the response is 404 without problem details'],
  ])('that leads to %s is told from a service', async (_what, fate, message) => {
    proxy.fates.push(fate);
    const failure = await client.clusters().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UnexpectedResponseError);
    expect(String(failure)).toBe(
      `UnexpectedResponseError: [unexpected_answer] GET ${proxy.url}/v1/clusters: ${message}; check that the base URL is that of a Resource Map`,
    );
    expect(proxy.seen).toHaveLength(1);

    const admin = createAccessClient({ baseUrl: proxy.url, retry: RETRY });
    for (const ask of [admin.tokens, admin.registrations, () => admin.issueToken({})]) {
      proxy.fates.push(fate);
      await expect(ask()).rejects.toBeInstanceOf(UnexpectedResponseError);
    }
  });

  it('where nobody listens fails with what the system says', async () => {
    const gone = await startFaultyProxy(service.url);
    await gone.close();
    const nobody = createClient({ baseUrl: gone.url, retry: { ...RETRY, attempts: 1 } });
    await expect(nobody.clusters()).rejects.toThrow(/^\[connection_failed\] GET .*: connect ECONNREFUSED/);
  });
});
