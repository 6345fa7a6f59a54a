import { gzipSync } from 'node:zlib';
import { toBinary } from '@bufbuild/protobuf';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { Authenticator } from '../../functions/auth/authenticator.ts';
import { newToken, tokenDigest } from '../../functions/auth/static-token.ts';
import { ClusterResourceMapSchema } from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { createApp } from '../../functions/http/app.ts';
import { mapRoutes } from '../../functions/lambdas/map/routes.ts';
import { pushRoutes } from '../../functions/lambdas/push/routes.ts';
import { duringRequest, jsonLinesTelemetry, type Telemetry } from '../../functions/runtime/telemetry.ts';
import { emfTelemetry } from '../../functions/runtime/telemetry-emf.ts';
import { dynamoClient, storeOn } from '../../functions/storage/client.ts';
import { RegistrationStore } from '../../functions/storage/registrations.ts';
import { startIssuer } from '../auth/issuer.ts';
import { snapshotOf } from '../core/snapshot/builders.ts';

type Line = Readonly<Record<string, unknown>>;

/** What `log` writes to standard output and error. */
function written(log: () => void): Line[] {
  const lines: string[] = [];
  const take = (chunk: unknown): boolean => {
    lines.push(String(chunk));
    return true;
  };
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation(take),
    vi.spyOn(process.stderr, 'write').mockImplementation(take),
  ];
  try {
    log();
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  return lines
    .join('')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

describe.each<[string, string, () => Telemetry]>([
  ['local service', 'local', jsonLinesTelemetry],
  ['Lambda function', 'push', () => emfTelemetry('push')],
])('A log line of the %s', (_, service, telemetryOf) => {
  const cause = new Error('the disk is full');

  it('has the causes of a cause, and ends where they go round', () => {
    const refused = new Error('connect ECONNREFUSED');
    const failed = new Error('fetch failed', { cause: refused });
    const telemetry = telemetryOf();
    const text = (error: Error): string =>
      String(written(() => telemetry.warn('x', { cause: error }))[0]?.cause);
    expect(text(failed)).toBe(`${failed.stack}\ncaused by ${refused.stack}`);
    refused.cause = failed;
    expect(text(failed).split('\ncaused by ')).toHaveLength(5);
  });

  it('is one JSON object with level, message, service, time, the fields, and the stack of a cause', () => {
    const telemetry = telemetryOf();
    const [warning, error, ...more] = written(() => {
      telemetry.warn('cluster omitted', { clusterId: 'a', count: 3 });
      telemetry.error('request failed', { cause });
    });
    expect(more).toEqual([]);
    const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(warning).toEqual({
      level: 'warn',
      message: 'cluster omitted',
      service,
      timestamp,
      clusterId: 'a',
      count: 3,
    });
    expect(error).toEqual({
      level: 'error',
      message: 'request failed',
      service,
      timestamp,
      cause: cause.stack,
    });
  });

  it('has the id of the request that is answered, however deep in the code it is written, and of no other', async () => {
    const telemetry = telemetryOf();
    const ids: unknown[] = [];
    const response = async (): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      ids.push(...written(() => telemetry.warn('deep', {})).map(({ requestId }) => requestId));
    };
    await Promise.all([duringRequest('first', response), duringRequest('second', response)]);
    await response();
    expect(ids).toEqual(['first', 'second', undefined]);
  });
});

describe('What is logged of requests', () => {
  const lines: string[] = [];
  const telemetry = jsonLinesTelemetry((line) => lines.push(line));
  const agent = newToken();
  /** Nobody answers there, so all that needs the store fails. */
  const nowhere = dynamoClient('http://127.0.0.1:1');
  const app = createApp(telemetry, {
    kind: 'tokens',
    authenticator: new Authenticator({
      trust: new RegistrationStore(nowhere, 'trust'),
      telemetry,
      now: Date.now,
      adminTokenSha256: tokenDigest(agent),
      loopbackIssuers: false,
    }),
  });
  const open = createApp(telemetry, { kind: 'open' });
  const SECRET = 'hunter2-the-secret';
  let jwt: string;

  beforeAll(async () => {
    const store = storeOn(nowhere, { heads: 'heads', contents: 'bodies', shards: 1 });
    for (const each of [app, open]) {
      pushRoutes(each, { store, telemetry, now: Date.now });
      mapRoutes(each, { store, telemetry, now: Date.now, cacheBytes: 1_000 });
    }
    const issuer = await startIssuer();
    jwt = await issuer.token({ iss: issuer.url, aud: 'map', sub: SECRET });
    await issuer.close();
  });
  afterEach(() => {
    lines.length = 0;
  });

  it('is neither token nor body, whether the token is refused, unknown, not allowed, or the store away', async () => {
    const snapshot = toBinary(
      ClusterResourceMapSchema,
      snapshotOf({ cluster: { clusterId: 'c1', displayName: SECRET }, jobs: [{ jobId: SECRET }] }),
    );
    const valid = toBinary(
      ClusterResourceMapSchema,
      snapshotOf({ cluster: { clusterId: 'c1', displayName: SECRET } }),
    );
    const json = `{"cluster":{"clusterId":"c1","displayName":"${SECRET}"},"${SECRET}":1}`;
    const unknown = newToken();
    const tokens = [agent, unknown, jwt, `${jwt.slice(0, -4)}AAAA`, SECRET, `Basic ${SECRET}`];
    const contents: [string, Uint8Array | string, Record<string, string>][] = [
      ['application/x-protobuf', snapshot, {}],
      ['application/x-protobuf', valid, {}],
      ['application/x-protobuf', gzipSync(valid), { 'content-encoding': 'gzip' }],
      ['application/x-protobuf', Buffer.from(SECRET), { 'content-encoding': 'gzip' }],
      ['application/json', json, {}],
      ['application/json', `{${SECRET}`, {}],
    ];
    const statuses = new Set<number>();
    for (const token of tokens) {
      for (const [type, body, headers] of contents) {
        for (const target of [app, open]) {
          const response = await target.request('/v1/clusters/c1/snapshot', {
            method: 'PUT',
            headers: {
              'content-type': type,
              authorization: token.includes(' ') ? token : `Bearer ${token}`,
              ...headers,
            },
            body: body as string | Uint8Array<ArrayBuffer>,
          });
          statuses.add(response.status);
          expect(response.headers.get('x-request-id')).toMatch(/./);
        }
      }
    }
    expect([...statuses].sort()).toEqual([400, 401, 403, 503]);
    expect(lines.length).toBeGreaterThan(10);
    const log = lines.join('');
    for (const secret of [SECRET, agent, unknown, jwt, ...jwt.split('.'), tokenDigest(agent)]) {
      expect(log.includes(secret), `The log has ${secret.slice(0, 12)}…`).toBe(false);
    }
    expect(lines.every((line) => typeof JSON.parse(line).requestId === 'string')).toBe(true);
  }, 60_000);

  it('is found by the id in the response, which is the caller’s own where it sends one', async () => {
    const response = await open.request('/v1/map', { headers: { 'x-request-id': 'mine-1' } });
    expect(response.status).toBe(503);
    expect(response.headers.get('x-request-id')).toBe('mine-1');
    expect(await response.json()).toMatchObject({ code: 'store_unavailable', requestId: 'mine-1' });
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      level: 'error',
      message: 'request failed',
      requestId: 'mine-1',
      method: 'GET',
      path: '/v1/map',
      code: 'store_unavailable',
    });
  }, 20_000);
});
