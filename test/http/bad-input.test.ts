/** Whatever a client sends that is wrong: it is told what, where and what would be right, and the map stays as it was. */
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ClusterResourceMapSchema } from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { type LocalService, startService } from '../../functions/local/service.ts';
import type { Telemetry } from '../../functions/runtime/telemetry.ts';
import { sendRaw } from '../builders/raw-http.ts';
import { type SnapshotInit, snapshotOf } from '../core/snapshot/builders.ts';

/** Of the snapshot that stands in the map. */
const MARK = 18_446_744_073_709_551_600n;
const COLLECTED_AT = timestampFromMs(Date.now() - 60_000);

const protobuf = (init: SnapshotInit = {}): Uint8Array =>
  toBinary(
    ClusterResourceMapSchema,
    snapshotOf({ logicalCounter: MARK, collectedAt: COLLECTED_AT, ...init }),
  );

const PROTOBUF = { 'content-type': 'application/x-protobuf' };
const JSON_TYPE = { 'content-type': 'application/json' };
const FRAMING = 'Send the encoded message itself, without a length prefix or framing.';

const failures: string[] = [];
const refused: (string | undefined)[] = [];
const telemetry: Telemetry = {
  warn: () => undefined,
  error: (message) => void failures.push(message),
  count: (metric, _, dimensions) => void (metric === 'Refused' && refused.push(dimensions?.code)),
  gauge: () => undefined,
};

let service: LocalService;
let url: string;
let mapBefore: string;
const map = async (): Promise<string> => (await fetch(`${url}/v1/map`)).text();

beforeAll(async () => {
  service = await startService({ engine: { kind: 'memory' }, port: 0, host: '127.0.0.1', telemetry });
  url = service.url;
  const response = await fetch(`${url}/v1/clusters/c1/snapshot?allow_jump=true`, {
    method: 'PUT',
    headers: PROTOBUF,
    body: protobuf(),
  });
  expect(await response.json()).toMatchObject({ outcome: 'PUSH_OUTCOME_PUBLISHED' });
  mapBefore = await map();
});
afterAll(() => service.close());

interface BadRequest {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: Uint8Array | string;
}
interface Expected {
  readonly status: number;
  readonly code: string;
  readonly detail: string | RegExp;
  readonly more?: Readonly<Record<string, unknown>>;
}

/** A push to c1 unless it says otherwise. */
const BAD: readonly (readonly [what: string, request: BadRequest, expected: Expected])[] = [
  [
    'an empty body',
    { headers: PROTOBUF, body: '' },
    {
      status: 400,
      code: 'empty_body',
      detail: 'The body is empty; send one ClusterResourceMap as application/x-protobuf or application/json.',
    },
  ],
  [
    'an empty body in gzip',
    { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: gzipSync('') },
    {
      status: 400,
      code: 'empty_body',
      detail: 'The body is empty; send one ClusterResourceMap as application/x-protobuf or application/json.',
    },
  ],
  [
    'truncated Protobuf',
    { headers: PROTOBUF, body: protobuf().subarray(0, -1) },
    {
      status: 400,
      code: 'malformed_protobuf',
      detail: `The ${protobuf().length - 1}-byte body is not a valid resourcemap.v1.ClusterResourceMap: at byte ${protobuf().length - 10}, a varint is cut off. ${FRAMING}`,
    },
  ],
  [
    'garbage for Protobuf',
    { headers: PROTOBUF, body: Buffer.from('not a snapshot') },
    {
      status: 400,
      code: 'malformed_protobuf',
      detail: new RegExp(
        `^The 14-byte body is not a valid resourcemap.v1.ClusterResourceMap: .+ ${FRAMING}$`,
      ),
    },
  ],
  [
    'JSON that is none',
    { headers: JSON_TYPE, body: '{"cluster":' },
    {
      status: 400,
      code: 'malformed_json',
      detail: 'The body is not valid JSON: Unexpected end of JSON input.',
    },
  ],
  [
    'JSON that is not UTF-8',
    { headers: JSON_TYPE, body: Buffer.from('7b22ff227d', 'hex') },
    { status: 400, code: 'malformed_json', detail: 'The body is not valid UTF-8; JSON must be.' },
  ],
  [
    'JSON with an unknown field',
    { headers: JSON_TYPE, body: '{"cluster":{"clusterId":"c1","zone":"a"}}' },
    {
      status: 400,
      code: 'malformed_json',
      detail:
        'The body is no resourcemap.v1.ClusterResourceMap in ProtoJSON: cluster.zone: ' +
        'ClusterIdentity has no field "zone"; leave it out.',
      more: {
        findings: [
          {
            code: 'unknown_field',
            severity: 'reject',
            path: 'cluster.zone',
            message: 'ClusterIdentity has no field "zone"; leave it out.',
          },
        ],
      },
    },
  ],
  [
    'JSON with a mistyped field',
    { headers: JSON_TYPE, body: '{"logicalCounter":18446744073709551601}' },
    {
      status: 400,
      code: 'malformed_json',
      detail:
        'The body is no resourcemap.v1.ClusterResourceMap in ProtoJSON: logical_counter: ' +
        '18446744073709552000 is given where a uint64 is expected, an integer from 0 to 18446744073709551615.',
    },
  ],
  [
    'no content type',
    { body: protobuf() },
    {
      status: 415,
      code: 'unsupported_media_type',
      detail:
        'The request has no Content-Type; send one of application/x-protobuf, application/protobuf, application/json.',
    },
  ],
  [
    'another content type',
    { headers: { 'content-type': 'text/csv' }, body: protobuf() },
    {
      status: 415,
      code: 'unsupported_media_type',
      detail:
        'The Content-Type is "text/csv"; send one of application/x-protobuf, application/protobuf, application/json.',
    },
  ],
  [
    'another encoding',
    { headers: { ...PROTOBUF, 'content-encoding': 'br' }, body: brotliCompressSync(protobuf()) },
    {
      status: 415,
      code: 'unsupported_encoding',
      detail: 'The Content-Encoding is "br"; send gzip, once, or leave it out.',
    },
  ],
  [
    'what is said to be gzip and is not',
    { headers: { ...PROTOBUF, 'content-encoding': 'gzip' }, body: protobuf() },
    {
      status: 400,
      code: 'malformed_encoding',
      detail:
        'The body is not valid gzip: incorrect header check. Send all of it, or leave Content-Encoding out.',
    },
  ],
  [
    'gzip that ends early',
    { headers: { ...PROTOBUF, 'content-encoding': 'gzip' }, body: gzipSync(protobuf()).subarray(0, -9) },
    {
      status: 400,
      code: 'malformed_encoding',
      detail:
        'The body is not valid gzip: unexpected end of file. Send all of it, or leave Content-Encoding out.',
    },
  ],
  [
    'more than may be inflated',
    {
      headers: { ...PROTOBUF, 'content-encoding': 'gzip' },
      body: gzipSync(Buffer.alloc(65 * 1_024 * 1_024), { level: 1 }),
    },
    { status: 413, code: 'body_too_large', detail: /inflate/ },
  ],
  [
    'the id of another cluster',
    { headers: PROTOBUF, body: protobuf({ cluster: { clusterId: 'c2' } }) },
    {
      status: 422,
      code: 'invalid_snapshot',
      detail: 'The snapshot breaks a rule; the map keeps the last good one.',
      more: {
        findings: [
          {
            code: 'cluster_id_mismatch',
            severity: 'reject',
            path: 'cluster.cluster_id',
            message: 'cluster.cluster_id is "c2", but the URL says "c1"; they must be equal',
          },
        ],
      },
    },
  ],
  [
    'a counter of 0',
    { headers: PROTOBUF, body: protobuf({ logicalCounter: 0n }) },
    {
      status: 422,
      code: 'invalid_snapshot',
      detail: 'The snapshot breaks a rule; the map keeps the last good one.',
      more: {
        findings: [
          {
            code: 'missing_counter',
            severity: 'reject',
            path: 'logical_counter',
            message: 'logical_counter is 0, which is unset; start at 1 and raise it for every push',
          },
        ],
      },
    },
  ],
  [
    'a counter that has no successor',
    { headers: PROTOBUF, body: protobuf({ logicalCounter: 2n ** 64n - 1n }) },
    {
      status: 422,
      code: 'invalid_snapshot',
      detail: 'The snapshot breaks a rule; the map keeps the last good one.',
    },
  ],
  [
    'no identity, no time and no counter',
    { headers: JSON_TYPE, body: '{}' },
    {
      status: 422,
      code: 'invalid_snapshot',
      detail: 'The snapshot breaks 3 rules; the map keeps the last good one.',
    },
  ],
  [
    'a counter below the mark',
    { headers: PROTOBUF, body: protobuf({ logicalCounter: MARK - 1n }) },
    {
      status: 409,
      code: 'counter_regressed',
      detail: `Counter ${MARK - 1n} of cluster "c1" is below ${MARK}, which was accepted before; use ${MARK + 1n} or above.`,
      more: { highWaterMark: String(MARK) },
    },
  ],
  [
    'other content at the mark',
    { headers: PROTOBUF, body: protobuf({ topology: {} }) },
    {
      status: 409,
      code: 'counter_reused',
      detail: `Counter ${MARK} of cluster "c1" was accepted before with another content; use ${MARK + 1n} or above.`,
      more: { highWaterMark: String(MARK) },
    },
  ],
  [
    'another time at the mark',
    { headers: PROTOBUF, body: protobuf({ collectedAt: timestampFromMs(1) }) },
    {
      status: 409,
      code: 'counter_reused',
      detail: `Counter ${MARK} of cluster "c1" was accepted before with another collected_at; use ${MARK + 1n} or above.`,
      more: { highWaterMark: String(MARK) },
    },
  ],
  [
    'the cluster id "__proto__"',
    {
      path: '/v1/clusters/__proto__/snapshot',
      headers: PROTOBUF,
      body: protobuf({ cluster: { clusterId: '__proto__' } }),
    },
    {
      status: 400,
      code: 'invalid_cluster_id',
      detail:
        'The cluster id is "__proto__", which a JSON object cannot safely have as a key; choose another id.',
    },
  ],
  [
    'a cluster id with a control character',
    { path: '/v1/clusters/a%0Ab/snapshot', headers: PROTOBUF, body: protobuf() },
    {
      status: 400,
      code: 'invalid_cluster_id',
      detail: 'The cluster id is "a\\nb", with the control character U+000A at position 1; an id has none.',
    },
  ],
  [
    'a cluster id of 254 bytes',
    { path: `/v1/clusters/${'x'.repeat(254)}/snapshot`, headers: PROTOBUF, body: protobuf() },
    {
      status: 400,
      code: 'invalid_cluster_id',
      detail: `The cluster id is "${'x'.repeat(128)}"… (254 characters), 254 bytes of UTF-8; an id has at most 253.`,
    },
  ],
  [
    'a cluster id that is not percent-encoded',
    { path: '/v1/clusters/50%/snapshot', headers: PROTOBUF, body: protobuf() },
    {
      status: 400,
      code: 'invalid_cluster_id',
      detail: 'The cluster id "50%" is not percent-encoded UTF-8; encode a "%" as "%25".',
    },
  ],
  [
    'a cluster id that is not UTF-8',
    { method: 'GET', path: '/v1/clusters/a%FF' },
    {
      status: 400,
      code: 'invalid_cluster_id',
      detail: 'The cluster id "a%FF" is not percent-encoded UTF-8; encode a "%" as "%25".',
    },
  ],
  [
    'a query parameter that is not UTF-8',
    { method: 'GET', path: '/v1/map?region=eu&cluster=%FF' },
    {
      status: 400,
      code: 'invalid_query',
      detail: 'The query parameter "cluster=%FF" is not percent-encoded UTF-8; encode a "%" as "%25".',
    },
  ],
  [
    'a query parameter that is mistyped',
    { path: '/v1/clusters/c1/snapshot?alow_jump=true', headers: PROTOBUF, body: protobuf() },
    {
      status: 400,
      code: 'invalid_query',
      detail: 'There is no query parameter "alow_jump"; did you mean "allow_jump"?',
    },
  ],
  [
    'a query parameter that is no boolean',
    { path: '/v1/clusters/c1/snapshot?strict=1', headers: PROTOBUF, body: protobuf() },
    {
      status: 400,
      code: 'invalid_query',
      detail: 'The query parameter strict is "1"; it can be true or false.',
    },
  ],
  [
    'a push whose answer the client could not read',
    { headers: { ...PROTOBUF, accept: 'text/html' }, body: protobuf({ logicalCounter: MARK + 1n }) },
    {
      status: 406,
      code: 'not_acceptable',
      detail:
        'The Accept header "text/html" names none of application/x-protobuf, application/protobuf, application/json.',
    },
  ],
  [
    'a method that the path does not know',
    { method: 'POST', headers: PROTOBUF, body: protobuf() },
    {
      status: 405,
      code: 'method_not_allowed',
      detail: 'POST is not allowed for /v1/clusters/c1/snapshot; allowed: PUT, GET, HEAD.',
    },
  ],
  [
    'the deletion of the map',
    { method: 'DELETE', path: '/v1/map' },
    {
      status: 405,
      code: 'method_not_allowed',
      detail: 'DELETE is not allowed for /v1/map; allowed: GET, HEAD.',
    },
  ],
  [
    'a path that is none',
    { method: 'GET', path: '/v2/map' },
    { status: 404, code: 'not_found', detail: 'No route matches /v2/map; GET / lists the routes.' },
  ],
  [
    'the deletion of a cluster that is not known',
    { method: 'DELETE', path: '/v1/clusters/c2' },
    {
      status: 404,
      code: 'cluster_not_found',
      detail:
        'No cluster "c2" is known; GET /v1/clusters lists those that are. In the URL an id is percent-encoded, its slashes too.',
    },
  ],
  [
    'a reason of more than 200 bytes',
    { method: 'DELETE', path: `/v1/clusters/c1?reason=${'ä'.repeat(101)}` },
    {
      status: 400,
      code: 'invalid_query',
      detail: `The reason "${'ä'.repeat(20)}…" has 202 bytes; at most 200 are kept.`,
    },
  ],
];

describe('bad input', () => {
  it.each(BAD)('%s is refused, and the map stays as it was', async (_, request, expected) => {
    const { method = 'PUT', path = '/v1/clusters/c1/snapshot', headers = {}, body } = request;
    const response = await fetch(`${url}${path}`, {
      method,
      headers,
      // As a Uint8Array, since fetch gives a text a content type of its own.
      ...(body === undefined ? {} : { body: Buffer.from(body) }),
    });
    const problem = (await response.json()) as Record<string, unknown>;
    expect([response.status, problem.status, problem.code]).toEqual([
      expected.status,
      expected.status,
      expected.code,
    ]);
    if (typeof expected.detail === 'string') expect(problem.detail).toBe(expected.detail);
    else expect(problem.detail).toMatch(expected.detail);
    expect(problem).toMatchObject(expected.more ?? {});
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(await map()).toBe(mapBefore);
  });

  it('is answered as RFC 9457 has it, with a code, the path and an id that the log has, too', async () => {
    const response = await fetch(`${url}/v1/clusters/c2`, { headers: { 'x-request-id': 'my-request' } });
    expect(await response.json()).toEqual({
      type: 'urn:resource-map:problem:cluster_not_found',
      title: 'No such cluster',
      status: 404,
      detail:
        'No cluster "c2" is known; GET /v1/clusters lists those that are. In the URL an id is percent-encoded, its slashes too.',
      instance: '/v1/clusters/c2',
      code: 'cluster_not_found',
      requestId: 'my-request',
      field: 'cluster',
      value: 'c2',
    });
    expect(response.headers.get('x-request-id')).toBe('my-request');
  });

  it.each([
    ['/v1/clusters/c1/snapshot', 'GET, HEAD, PUT'],
    ['/v1/clusters/c1', 'DELETE, GET, HEAD'],
    ['/v1/map', 'GET, HEAD'],
    ['/v1/map/clock', 'GET, HEAD'],
    ['/v1/clusters', 'GET, HEAD'],
    ['/v1/map/sync', 'POST'],
  ])('on %s a wrong method is told which are right: %s', async (path, allow) => {
    const response = await fetch(`${url}${path}`, { method: 'PATCH' });
    expect(response.status).toBe(405);
    expect((response.headers.get('allow') ?? '').split(', ').sort().join(', ')).toBe(allow);
  });

  it.each(['/v1/clusters/..', '/v1/clusters/.', '/v1/clusters/%2E%2E', '/v1/clusters/%2e'])(
    'a path that URLs resolve away is no cluster: %s',
    async (path) => {
      const response = await sendRaw(url, `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
      expect([response.status, JSON.parse(response.body).code]).toEqual([404, 'not_found']);
    },
  );

  it('of a client that breaks off in the middle of a body changes nothing and is no failure of ours', async () => {
    const body = Buffer.from(protobuf({ logicalCounter: MARK + 1n }));
    const request = `PUT /v1/clusters/c1/snapshot HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\ncontent-length: ${body.length}\r\n\r\n`;
    await expect(sendRaw(url, [request, body.subarray(0, -1)], 300)).rejects.toThrow(
      'No response within 300 ms.',
    );
    await vi.waitFor(() => expect(refused).toContain('incomplete_body'));
    expect(await map()).toBe(mapBefore);
  });

  it('is nothing that the log calls a failure of the service', () => {
    expect(failures).toEqual([]);
  });
});
