/** ResourceMapService as clients use it: connect-es, by Connect and gRPC-Web, on the running service. */
import { readFileSync } from 'node:fs';
import { create, fromBinary, fromJsonString, toBinary } from '@bufbuild/protobuf';
import { type Client, Code, ConnectError, createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-web';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Pool, PoolSchema } from '../../../functions/gen/resourcemap/bundle/v1/pool_pb.ts';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
  GlobalResourceMapSchema,
} from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { ResourceMapService } from '../../../functions/gen/resourcemap/v1/rpc_pb.ts';
import { GetMapRequestSchema, ProblemSchema } from '../../../functions/gen/resourcemap/v1/rpc_requests_pb.ts';
import { ClusterState, PushOutcome } from '../../../functions/gen/resourcemap/v1/service_pb.ts';
import { type GuardedService, startGuardedService } from '../../auth/guarded-service.ts';

const SERVICE = '/resourcemap.v1.ResourceMapService';
const SAMPLE = fromJsonString(
  ClusterResourceMapSchema,
  readFileSync(new URL('../../../functions/local/samples/kops-l4-t3.json', import.meta.url), 'utf8'),
);
const CLUSTER = SAMPLE.cluster?.clusterId ?? '';

let service: GuardedService;
let agent: string;
let scheduler: string;
let counter = SAMPLE.logicalCounter;

beforeAll(async () => {
  service = await startGuardedService();
  agent = await service.issue('AGENT', CLUSTER);
  scheduler = await service.issue('SCHEDULER');
});
afterAll(() => service.close());

type Service = Client<typeof ResourceMapService>;

function snapshot(): ClusterResourceMap {
  counter += 1n;
  return create(ClusterResourceMapSchema, { ...SAMPLE, logicalCounter: counter });
}

const poolOf = (region: string): Pool =>
  create(PoolSchema, {
    poolName: 'p',
    tiers: [{ source: { case: 'cluster', value: { region: [region] } } }],
  });

const bearer = (token: string): { headers: Record<string, string> } => ({
  headers: { authorization: `Bearer ${token}` },
});

async function errorOf(call: Promise<unknown>): Promise<ConnectError> {
  const thrown = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown instanceof ConnectError) return thrown;
  throw new Error('The call did not fail with a ConnectError.', { cause: thrown });
}

describe.each([
  { protocol: 'connect', binary: true, get: false },
  { protocol: 'connect', binary: false, get: false },
  { protocol: 'connect', binary: true, get: true },
  { protocol: 'connect', binary: false, get: true },
  { protocol: 'grpc-web', binary: true, get: false },
  { protocol: 'grpc-web', binary: false, get: false },
])('$protocol (Protobuf: $binary, GET: $get)', ({ protocol, binary, get }) => {
  let client: Service;
  beforeEach(() => {
    const options = { baseUrl: service.url, useBinaryFormat: binary };
    const transport =
      protocol === 'connect'
        ? createConnectTransport({ ...options, useHttpGet: get })
        : createGrpcWebTransport(options);
    client = createClient(ResourceMapService, transport);
  });

  it('pushes, reads the map, asks fit and omits', async () => {
    const pushed = await client.pushSnapshot({ snapshot: snapshot() }, bearer(agent));
    expect(pushed).toMatchObject({ clusterId: CLUSTER, highWaterMark: counter });
    expect([PushOutcome.PUBLISHED, PushOutcome.REFRESHED]).toContain(pushed.outcome);
    const map = await client.getMap({ filter: { cluster: [CLUSTER] } }, bearer(scheduler));
    expect(map.vectorClock).toEqual({ [CLUSTER]: counter });
    expect(await client.getClock({}, bearer(scheduler))).toMatchObject({
      vectorClock: { [CLUSTER]: counter },
    });
    const sync = await client.syncMap({ vectorClock: { [CLUSTER]: counter } }, bearer(scheduler));
    expect(sync).toMatchObject({ complete: true, changed: [], refreshed: [] });
    const listed = await client.listClusters({ states: [ClusterState.INCLUDED] }, bearer(scheduler));
    expect(listed.clusters.map(({ cluster }) => cluster?.clusterId)).toEqual([CLUSTER]);
    const later = await client.listClusters(
      { conditions: ['included'], search: CLUSTER, limit: 1, changedSince: listed.asOf },
      bearer(scheduler),
    );
    expect(later).toMatchObject({ clusters: [], matching: 0, counts: { included: 1 } });
    const fit = await client.fit(
      { shapes: [{ podRequirements: [{ acceleratorCount: 1000 }] }] },
      bearer(scheduler),
    );
    expect(fit.shapes.map(({ fits }) => fits)).toEqual([false]);
    const capacity = await client.getCapacity({ filter: { eligible: true } }, bearer(scheduler));
    expect(capacity.targets.map(({ clusterId }) => clusterId)).toContain(CLUSTER);
    const validated = await client.validateSnapshot({ snapshot: snapshot() }, bearer(agent));
    expect(validated.valid).toBe(true);
    const omitted = await client.omitCluster({ clusterId: CLUSTER, reason: 'maintenance' }, bearer(agent));
    expect(omitted).toMatchObject({ state: ClusterState.OMITTED, omittedReason: 'maintenance' });
  });

  it('gives the mark of a counter that went back, in the detail', async () => {
    await client.pushSnapshot({ snapshot: snapshot() }, bearer(agent));
    const old = create(ClusterResourceMapSchema, { ...SAMPLE, logicalCounter: 1n });
    const error = await errorOf(client.pushSnapshot({ snapshot: old }, bearer(agent)));
    expect(error.code).toBe(Code.FailedPrecondition);
    expect(error.findDetails(ProblemSchema)).toMatchObject([
      { code: 'counter_regressed', highWaterMark: counter },
    ]);
  });

  it('creates, replaces under its etag and deletes a pool', async () => {
    const admin = bearer(service.adminToken);
    const pool = poolOf('r');
    const created = await client.putPool({ pool }, admin);
    expect((await client.getPool({ poolName: 'p' }, admin)).etag).toBe(created.etag);
    const other = poolOf('s');
    expect((await errorOf(client.putPool({ pool: other }, admin))).code).toBe(Code.FailedPrecondition);
    await client.putPool({ pool: other, etag: created.etag }, admin);
    const changed = await errorOf(client.deletePool({ poolName: 'p', etag: created.etag }, admin));
    expect(changed.code).toBe(Code.Aborted);
    await client.deletePool({ poolName: 'p' }, admin);
    expect((await client.listPools({}, admin)).pools).toEqual([]);
  });

  it('lets each role do what the route lets it do, and no more', async () => {
    const token = await errorOf(client.getMap({}));
    expect(token.code).toBe(Code.Unauthenticated);
    expect(token.findDetails(ProblemSchema).map(({ code }) => code)).toEqual(['unauthenticated']);
    expect((await errorOf(client.getMap({}, bearer(agent)))).code).toBe(Code.PermissionDenied);
    const push = client.pushSnapshot({ snapshot: snapshot() }, bearer(scheduler));
    expect((await errorOf(push)).code).toBe(Code.PermissionDenied);
    const foreign = create(ClusterResourceMapSchema, {
      cluster: { clusterId: 'another' },
      logicalCounter: 1n,
    });
    expect((await errorOf(client.pushSnapshot({ snapshot: foreign }, bearer(agent)))).code).toBe(
      Code.PermissionDenied,
    );
  });

  it.each(['', '.', '..'])('refuses the cluster id "%s", which no path can have', async (clusterId) => {
    const error = await errorOf(client.omitCluster({ clusterId }, bearer(service.adminToken)));
    expect(error.code).toBe(Code.InvalidArgument);
    expect(error.findDetails(ProblemSchema).map(({ code }) => code)).toEqual(['invalid_cluster_id']);
  });
});

describe('on the wire', () => {
  async function call(
    method: string,
    init: RequestInit & { readonly query?: string } = {},
  ): Promise<Response> {
    const { query = '', headers, ...rest } = init;
    return fetch(`${service.url}${SERVICE}/${method}${query}`, {
      ...rest,
      headers: { authorization: `Bearer ${scheduler}`, ...(headers as Record<string, string>) },
    });
  }

  it.each(['gzip', 'identity'])('GetMap is byte for byte GET /v1/map, as %s', async (encoding) => {
    const client = createClient(ResourceMapService, createConnectTransport({ baseUrl: service.url }));
    await client.pushSnapshot({ snapshot: snapshot() }, bearer(agent));
    const route = await fetch(`${service.url}/v1/map`, {
      headers: {
        authorization: `Bearer ${scheduler}`,
        accept: 'application/x-protobuf',
        'accept-encoding': encoding,
      },
    });
    const rpc = await call('GetMap', {
      method: 'POST',
      headers: { 'content-type': 'application/proto', 'accept-encoding': encoding },
      body: toBinary(GetMapRequestSchema, create(GetMapRequestSchema)) as Uint8Array<ArrayBuffer>,
    });
    expect(rpc.headers.get('content-type')).toBe('application/proto');
    expect(rpc.headers.get('content-encoding')).toBe(encoding === 'gzip' ? 'gzip' : null);
    expect(rpc.headers.get('etag')).toBe(route.headers.get('etag'));
    const bytes = Buffer.from(await rpc.arrayBuffer());
    expect(bytes.equals(Buffer.from(await route.arrayBuffer()))).toBe(true);
    expect(fromBinary(GlobalResourceMapSchema, bytes).vectorClock).toEqual({ [CLUSTER]: counter });
  });

  it('responds 304 to a GET with If-None-Match, and never to a POST', async () => {
    const query = '?connect=v1&encoding=proto&message=';
    const first = await call('GetMap', { query });
    const etag = first.headers.get('etag') ?? '';
    const headers = { 'if-none-match': etag };
    expect((await call('GetMap', { query, headers })).status).toBe(304);
    const posted = { method: 'POST', headers: { ...headers, 'content-type': 'application/proto' } };
    expect((await call('GetMap', posted)).status).toBe(200);
  });

  it('has a bare 404 for an unknown method, 405 for GET of one with side effects, 415 for an unknown type', async () => {
    const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
    const unknown = await call('constructor', json);
    expect([unknown.status, await unknown.text()]).toEqual([404, '']);
    const got = await call('SyncMap', { query: '?encoding=json&message={}' });
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
    const text = await call('GetMap', {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: '',
    });
    expect(text.status).toBe(415);
  });

  it.each([
    ['PushSnapshot', '{"snapshot": 1}', 'snapshot is not an object'],
    ['PushSnapshot', '{"strict": "yes"}', 'strict is not true or false'],
    ['PushSnapshot', '{"strikt": true}', 'there is no field "strikt"'],
    ['PushSnapshot', '{', 'resourcemap.v1.PushSnapshotRequest'],
    ['GetMap', '{"filtre": {}}', 'filtre'],
    ['PutPool', '{}', 'The request has no pool; send one.'],
  ])('names what is wrong in a request to %s: %s', async (method, body, message) => {
    const token = method === 'PushSnapshot' ? agent : service.adminToken;
    const response = await call(method, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body,
    });
    expect(response.status).toBe(400);
    const error = (await response.json()) as { readonly code: string; readonly message: string };
    expect(error.code).toBe('invalid_argument');
    expect(error.message).toContain(message);
  });
});
