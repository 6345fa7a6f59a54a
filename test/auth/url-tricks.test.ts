import { toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ClusterResourceMapSchema } from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { sendRaw } from '../builders/raw-http.ts';
import { nested, text } from '../builders/wire.ts';
import { snapshotOf } from '../core/snapshot/builders.ts';
import { type GuardedService, startGuardedService } from './guarded-service.ts';

/** The agent of A tries to reach B in whatever way a URL, a header or a body can be written. */
const A = 'alpha';
const B = 'beta';

let service: GuardedService;
let agentOfA: string;
let scheduler: string;

function bytesOf(clusterId: string, counter: bigint): Uint8Array {
  return toBinary(ClusterResourceMapSchema, snapshotOf({ cluster: { clusterId }, logicalCounter: counter }));
}

beforeAll(async () => {
  service = await startGuardedService();
  agentOfA = await service.issue('AGENT', A);
  scheduler = await service.issue('SCHEDULER');
  const agentOfB = await service.issue('AGENT', B);
  for (const [id, token] of [
    [A, agentOfA],
    [B, agentOfB],
  ] as const) {
    const { status } = await service.call(`PUT /v1/clusters/${id}/snapshot`, {
      token,
      body: bytesOf(id, 5n),
    });
    expect(status).toBe(200);
  }
});
afterAll(() => service.close());

async function statusOfB(): Promise<unknown> {
  const { body } = await service.call(`GET /v1/clusters/${B}`, { token: scheduler });
  const { age: _, ...rest } = body;
  return rest;
}

/** Sends a request line as it is. */
async function send(
  method: string,
  target: string,
  { headers = '', token = agentOfA, host = 'localhost', body = new Uint8Array(0) as Uint8Array } = {},
): Promise<{ status: number; body: string }> {
  return sendRaw(service.url, [
    `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n${headers}` +
      `Content-Type: application/x-protobuf\r\nContent-Length: ${body.length}\r\n\r\n`,
    body,
  ]);
}

const TARGETS: readonly string[] = [
  `/v1/clusters/${B}`,
  `/v1/clusters/%62eta`,
  `/v1/clusters/%62%65%74%61`,
  `/v1/clusters/%2562eta`,
  `/v1/clusters/${A}/../${B}`,
  `/v1/clusters/${A}/%2e%2e/${B}`,
  `/v1/clusters/${A}/.%2e/${B}`,
  `/v1/clusters/${A}/%2E%2E%2F${B}`,
  `/v1/clusters/${A}%2F..%2F${B}`,
  `/v1/clusters/${A}/..;/${B}`,
  `/v1/clusters/./${B}`,
  `/v1/clusters/%2e/${B}`,
  `/v1/clusters//${B}`,
  `/v1//clusters/${B}`,
  `//v1/clusters/${B}`,
  `/v1/clusters/${B}.`,
  `/v1/clusters/${B}..`,
  `/v1/clusters/${B}%2E`,
  `/v1/clusters/${B}./snapshot`,
  `/v1/clusters/${B}//snapshot`,
  `/v1/clusters/${B.toUpperCase()}/snapshot`,
  `/v1/clusters/${B}%20`,
  `/v1/clusters/${B}%00`,
  `/v1/clusters/${B}%09`,
  `/v1/clusters/${B}%0d%0aX-Injected:%201`,
  `/v1/clusters/${B.toUpperCase()}`,
  `/V1/CLUSTERS/${B}`,
  `/v1/clusters/${A}#/../${B}`,
  `/v1/clusters/${A}?/../${B}`,
  `/v1/clusters/${A}%23${B}`,
  `/v1/clusters/${A},${B}`,
  `/v1/clusters/${A};${B}`,
  `/v1/clusters/${A}&id=${B}`,
  `/v1/clusters/${A}?id=${B}`,
  `/v1/clusters/${A}?cluster=${B}`,
  `/v1/clusters/b%C3%A9ta`,
  `/v1/clusters/${B}%EF%BB%BF`,
  `/v1/clusters/%C1%A2eta`,
  `/v1/clusters/%u0062eta`,
  `/v1/clusters/ｂeta`,
  `/v1\\clusters\\${B}`,
  `\\v1\\clusters\\${B}`,
  `/v1/clusters/${A}\\..\\${B}`,
  `/v1/clusters/${A}%5C..%5C${B}`,
  `http://localhost/v1/clusters/${B}`,
  `http://localhost/v1/clusters/${A}/../${B}`,
  `http://${A}@localhost/v1/clusters/${B}`,
  `/healthz/../v1/clusters/${B}`,
  `/healthz%2f..%2fv1%2fclusters%2f${B}`,
  `/?/../v1/clusters/${B}`,
  `/v1/clusters/__proto__`,
  `/v1/clusters/${B}/snapshot`,
  `/v1/clusters/${B}/snapshot/`,
  `/v1/clusters/${B}/snapshot/snapshot`,
  `/v1/clusters/${B}%2Fsnapshot`,
  `/v1/clusters/${A}/../${B}/snapshot`,
  `/v1/clusters/${A}%2F..%2F${B}/snapshot`,
  `/v1/clusters/${A}/snapshot/../../${B}/snapshot`,
  `/v1/clusters/${A}%2Fsnapshot%2F..%2F..%2F${B}/snapshot`,
];

describe('The agent of one cluster, whatever it writes into the URL', () => {
  it.each(TARGETS)('neither sees nor changes another at %s', async (target) => {
    const before = await statusOfB();
    for (const method of ['GET', 'HEAD', 'DELETE', 'PUT', 'POST', 'PATCH', 'OPTIONS', 'TRACE']) {
      const response = await send(method, target, {
        body: method === 'PUT' ? bytesOf(B, 9n) : new Uint8Array(0),
      });
      if (response.status < 300) {
        // What it may do at such a target is what it may do anyway, with its own cluster or the index.
        const harmless = /^(GET|HEAD|DELETE) \/v1\/clusters\/alpha[?#]|^(GET|HEAD) \/\?/;
        expect(`${method} ${target}`).toMatch(harmless);
      }
      expect(response.body).not.toContain('"clusterId":"beta"');
    }
    expect(await statusOfB()).toEqual(before);
  });

  it('does not see another in the list of clusters', async () => {
    const { body } = await service.call('GET /v1/clusters', { token: agentOfA });
    expect((body.clusters as { cluster: { clusterId: string } }[]).map((c) => c.cluster.clusterId)).toEqual([
      A,
    ]);
  });

  it('is told nothing of whether another exists', async () => {
    const [existing, missing] = await Promise.all(
      [B, 'nobody'].map((id) => service.call(`GET /v1/clusters/${id}`, { token: agentOfA })),
    );
    expect(existing?.body.detail).toBe(
      'The token is for the agent of cluster "alpha", and for no other cluster.',
    );
    expect([missing?.status, missing?.body.detail]).toEqual([existing?.status, existing?.body.detail]);
  });

  it.each([
    'X-Forwarded-Path',
    'X-Original-URL',
    'X-Rewrite-URL',
    'X-HTTP-Method-Override',
    'X-Forwarded-Prefix',
  ])('cannot use the header %s to be somewhere else', async (header) => {
    const before = await statusOfB();
    const value = header.includes('Method') ? 'DELETE' : `/v1/clusters/${B}`;
    const response = await send('GET', `/v1/clusters/${A}`, { headers: `${header}: ${value}\r\n` });
    expect(JSON.parse(response.body).cluster.clusterId).toBe(A);
    expect(await statusOfB()).toEqual(before);
  });

  it.each([`localhost/v1/clusters/${B}?`, `localhost#`, `x@localhost/v1/clusters/${B}`, `a b`])(
    'cannot use the Host %s to be somewhere else',
    async (host) => {
      const response = await send('DELETE', `/v1/clusters/${A}x`, { host });
      expect(response.status).toBeGreaterThanOrEqual(400);
    },
  );
});

describe('The agent of one cluster, whatever it writes into the body', () => {
  it.each([
    ['names another cluster', () => bytesOf(B, 20n)],
    ['names both, the other one last', () => Buffer.concat([bytesOf(A, 20n), nested(1, text(1, B))])],
    ['names both, its own last', () => Buffer.concat([bytesOf(B, 20n), nested(1, text(1, A))])],
    ['names its own with a zero byte after it', () => bytesOf(`${A}\0`, 20n)],
  ])('changes no other with one that %s', async (_, body) => {
    const before = await statusOfB();
    const atOwn = await service.call(`PUT /v1/clusters/${A}/snapshot`, { token: agentOfA, body: body() });
    const atOther = await service.call(`PUT /v1/clusters/${B}/snapshot`, { token: agentOfA, body: body() });
    expect(atOther.status).toBe(403);
    expect([200, 422]).toContain(atOwn.status);
    expect(await statusOfB()).toEqual(before);
  });

  it('is refused before its body is read', async () => {
    const response = await sendRaw(
      service.url,
      `PUT /v1/clusters/${B}/snapshot HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${agentOfA}\r\n` +
        'Content-Type: application/x-protobuf\r\nContent-Length: 1000000\r\n\r\n',
    );
    expect(response.status).toBe(403);
  });
});
