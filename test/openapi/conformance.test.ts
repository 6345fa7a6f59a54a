/**
 * Every operation of the document, called on the real service: what it answers is what the
 * document says, and what the document says can be seen.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync, gzipSync } from 'node:zlib';
import { DeleteItemCommand } from '@aws-sdk/client-dynamodb';
import { fromJsonString, toBinary, toJsonString } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PERMISSIONS, type Permission } from '../../functions/auth/permissions.ts';
import { newToken } from '../../functions/auth/static-token.ts';
import { newClaimId } from '../../functions/client/claim-id.ts';
import { MAX_CLAIMS_PER_OWNER } from '../../functions/core/claims/limits.ts';
import type { Role } from '../../functions/core/registration.ts';
import { MAX_DISTINCT_KEYS } from '../../functions/core/snapshot/limits.ts';
import {
  ClusterResourceMapSchema,
  type PurchaseModel,
} from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { MAX_HEADER_BYTES, MAX_WAITING_INFLATES, MAX_WAITS_PER_CALLER } from '../../functions/http/limits.ts';
import { isApiRoute, routeName } from '../../functions/http/route-name.ts';
import { PROBLEMS } from '../../functions/http/status.ts';
import { contentKey } from '../../functions/storage/contents.ts';
import { type GuardedService, startGuardedService } from '../auth/guarded-service.ts';
import { AUDIENCE, startIssuer, type TestIssuer } from '../auth/issuer.ts';
import { sendRaw } from '../builders/raw-http.ts';
import { engines, freshStore } from '../engines/store.ts';
import { clusterSnapshot } from '../lambdas/map/snapshots.ts';
import { unconnectedApp } from '../local/unconnected-app.ts';
import {
  type BrokenService,
  behindANarrowFront,
  claimsOf,
  freshLedgers,
  withoutTrust,
} from './broken-services.ts';
import { type Call, headersOf, send, withBody, withHeaders } from './calls.ts';
import { DescribedService, type Document, type OperationResponse } from './described.ts';

const document = JSON.parse(
  readFileSync(new URL('../../functions/lambdas/about/openapi.json', import.meta.url), 'utf8'),
) as Document;
const described = new DescribedService(document);
const OPERATIONS = described.operations;

/** Answers that cannot be had here, each with the reason. One that is seen after all, or is gone, fails the test. */
const NOT_PROVOKED: readonly (readonly [responses: RegExp, reason: string])[] = [
  [/ request_timeout$/, 'The server looks for slow clients twice a minute.'],
  [/ contention$/, 'Others would have to win sixteen races in a row.'],
  [/^GET \/(?:healthz|livez|version|openapi\.json)? internal$/, 'There is nothing that could fail.'],
  [
    / claim_undecided$/,
    'The search would have to run out of its steps; the tests of the packing have such cases.',
  ],
  [
    /^GET \/v1\/(?:bundles\S*|capacity) too_many_waits$/,
    'The limiter is the one of claims and of the map, where it is provoked.',
  ],
  [/ too_many_bundles$/, 'A thousand bundles would have to be stored.'],
];

const OWN = 'arn:aws:eks:eu-west-1:1:cluster/a';
const GONE = 'gone';
const LEAVING = 'leaving';
const BODILESS = 'bodiless';
const SAMPLES = new URL('../../functions/local/samples/', import.meta.url);

let service: GuardedService;
let issuer: TestIssuer;
let trustAway: BrokenService;
let trustFaulty: BrokenService;
let narrow: BrokenService;
/** The path of a claim whose cluster's snapshot cannot be read. */
let unreadableClaim = '';
const tokens = new Map<string, string>();

const POOL = {
  tiers: [
    { tierName: 'here', cluster: {} },
    { tierName: 'there', elastic: { provider: 'aws', instanceTypes: [{ instanceType: 'p5.48xlarge' }] } },
  ],
};
const OTHER_POOL = JSON.stringify({ tiers: [{ cluster: {} }] });
const BUNDLE = {
  bundleId: 'b1',
  pool: 'any',
  jobs: [
    {
      jobName: 'a',
      requirements: { requiredCapabilities: [{ name: 'resource-map/accelerator', count: 1 }] },
    },
    { jobName: 'b', requirements: { requiredCapacity: 1e9 } },
  ],
};

const snapshotPath = (id: string): string => `/v1/clusters/${encodeURIComponent(id)}/snapshot`;
const snapshotJson = (id: string, counter: bigint, nodes = 1): string => {
  const snapshot = clusterSnapshot(id, { counter, nodes, model: 'NVIDIA-H100-80GB-HBM3' });
  // Room that claims may have.
  for (const type of snapshot.capacityPools.flatMap((pool) => pool.nodeTypes)) type.eligibleForTandemn = true;
  return toJsonString(ClusterResourceMapSchema, snapshot);
};
const claimPath = (id: string, clusterId = OWN): string =>
  `/v1/claims/${id}?cluster=${encodeURIComponent(clusterId)}`;
const ONE_POD = { jobId: 'job', ranks: [{ podRequirements: [{ acceleratorCount: 1 }] }], ttl: '60s' };
const json = (method: string, path: string, body: unknown): Call =>
  withBody({ method, path }, 'application/json', typeof body === 'string' ? body : JSON.stringify(body));
const bearer = (token = ''): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` });

let counter = 1n;
let subjects = 0;
let pools = 0;
let bundles = 0;

/** A request of each operation that succeeds, made again each time. */
const GOOD: Readonly<Record<string, () => Call | Promise<Call>>> = {
  'GET /': () => ({ method: 'GET', path: '/' }),
  'GET /healthz': () => ({ method: 'GET', path: '/healthz' }),
  'GET /livez': () => ({ method: 'GET', path: '/livez' }),
  'GET /version': () => ({ method: 'GET', path: '/version' }),
  'GET /openapi.json': () => ({ method: 'GET', path: '/openapi.json' }),
  'PUT /v1/clusters/{id}/snapshot': () => json('PUT', snapshotPath(OWN), snapshotJson(OWN, ++counter)),
  'POST /v1/snapshots/validate': () => json('POST', '/v1/snapshots/validate', snapshotJson('any', 1n)),
  'DELETE /v1/clusters/{id}': () => ({ method: 'DELETE', path: `/v1/clusters/${GONE}?reason=tested` }),
  'GET /v1/clusters': () => ({ method: 'GET', path: '/v1/clusters' }),
  'GET /v1/clusters/{id}': () => ({ method: 'GET', path: `/v1/clusters/${encodeURIComponent(OWN)}` }),
  'GET /v1/clusters/{id}/snapshot': () => ({ method: 'GET', path: snapshotPath(OWN) }),
  'GET /v1/map': () => ({ method: 'GET', path: '/v1/map' }),
  'GET /v1/map/clock': () => ({ method: 'GET', path: '/v1/map/clock' }),
  'POST /v1/map/sync': () => json('POST', '/v1/map/sync', { vectorClock: { [OWN]: '1', unknown: '1' } }),
  'GET /v1/wait/map': () => ({ method: 'GET', path: '/v1/wait/map' }),
  'POST /v1/wait/map/sync': () =>
    json('POST', '/v1/wait/map/sync', { vectorClock: { [OWN]: '1', unknown: '1' } }),
  'GET /v1/capacity': () => ({ method: 'GET', path: '/v1/capacity' }),
  'POST /v1/capacity/fit': () =>
    json('POST', '/v1/capacity/fit', {
      shapes: [
        { podRequirements: [{ acceleratorModel: 'NVIDIA-H100-80GB-HBM3', acceleratorCount: 8 }] },
        { podRequirements: [{ acceleratorCount: 1 }], chains: 1_000_000 },
      ],
      maxCandidates: 3,
    }),
  'POST /v1/bundles/validate': () => json('POST', '/v1/bundles/validate', { bundle: BUNDLE }),
  'POST /v1/bundles/plan': () =>
    json('POST', '/v1/bundles/plan', { bundles: [BUNDLE], pools: [{ ...POOL, poolName: 'any' }] }),
  'GET /v1/pools': () => ({ method: 'GET', path: '/v1/pools' }),
  'GET /v1/pools/{name}': async () => ({ method: 'GET', path: (await madePool()).path }),
  'PUT /v1/pools/{name}': () => json('PUT', `/v1/pools/pool%20${++pools}`, POOL),
  'DELETE /v1/pools/{name}': async () => ({ method: 'DELETE', path: (await madePool()).path }),
  'GET /v1/bundles': () => ({ method: 'GET', path: '/v1/bundles' }),
  'GET /v1/bundles/{id}': async () => ({ method: 'GET', path: await storedBundle() }),
  'PUT /v1/bundles/{id}': () => json('PUT', `/v1/bundles/b${++bundles}`, NOWHERE),
  'DELETE /v1/bundles/{id}': async () => ({ method: 'DELETE', path: await storedBundle() }),
  'POST /v1/bundles/{id}/stop-time': async () =>
    json('POST', `${await storedBundle()}/stop-time`, { stopAt: '2100-01-01T00:00:00Z' }),
  'POST /v1/bundles/{id}/copies/{copy}/move': async () => ({
    method: 'POST',
    path: `${await storedBundle()}/copies/primary/move`,
  }),
  'GET /v1/claims': () => ({ method: 'GET', path: '/v1/claims' }),
  'GET /v1/claims/{id}': async () => ({ method: 'GET', path: await acceptedClaim() }),
  'PUT /v1/claims/{id}': async () => {
    await freeOwn();
    return json('PUT', claimPath(newClaimId()), ONE_POD);
  },
  'POST /v1/claims/{id}/confirm': async () =>
    json('POST', under(await acceptedClaim(), '/confirm'), { ttl: '120s' }),
  'POST /v1/claims/{id}/renew': async () =>
    json('POST', under(await acceptedClaim(), '/renew'), { ttl: '90s' }),
  'DELETE /v1/claims/{id}': async () => ({
    method: 'DELETE',
    path: `${await acceptedClaim()}&reason=tested`,
  }),
  'POST /v1/registrations': () =>
    json('POST', '/v1/registrations', {
      issuer: issuer.url,
      audience: AUDIENCE,
      subject: `subject-${++subjects}`,
      role: 'ROLE_SCHEDULER',
    }),
  'GET /v1/registrations': () => ({ method: 'GET', path: '/v1/registrations' }),
  'DELETE /v1/registrations/{id}': async () => {
    const made = await call('POST /v1/registrations');
    return {
      method: 'DELETE',
      path: `/v1/registrations/${described.check('POST /v1/registrations', made).id}`,
    };
  },
  'POST /v1/tokens': () => json('POST', '/v1/tokens', { role: 'ROLE_SCHEDULER', lifetime: '3600s' }),
  'GET /v1/tokens': () => ({ method: 'GET', path: '/v1/tokens' }),
  'DELETE /v1/tokens/{id}': async () => {
    const made = await call('POST /v1/tokens');
    const { token } = described.check('POST /v1/tokens', made) as { token: { id: string } };
    return { method: 'DELETE', path: `/v1/tokens/${token.id}` };
  },
};

/** Another path of a claim, with the same query. */
function under(path: string, more: string): string {
  return path.replace('?', `${more}?`);
}

/** Sends as the scheduler, whose claims these are. */
async function asScheduler(request: Call): Promise<OperationResponse> {
  return send(service.url, withHeaders(request, bearer(tokens.get('scheduler'))));
}

/** Releases every claim, so that the cluster has room for the next. */
async function freeOwn(): Promise<void> {
  const { body } = await asScheduler({ method: 'GET', path: '/v1/claims?state=held&state=confirmed' });
  const { claims = [] } = JSON.parse(Buffer.from(body).toString()) as {
    claims?: { id: string; clusterId: string }[];
  };
  for (const { id, clusterId } of claims) {
    const released = await asScheduler({
      method: 'DELETE',
      path: `${claimPath(id, clusterId)}&never_started=true`,
    });
    described.check('DELETE /v1/claims/{id}', released);
  }
}

/** @returns the path of a claim that was just accepted */
async function acceptedClaim(request: object = ONE_POD): Promise<string> {
  await freeOwn();
  const path = claimPath(newClaimId());
  const accepted = await asScheduler(json('PUT', path, request));
  described.check('PUT /v1/claims/{id}', accepted);
  expect(accepted.status).toBe(201);
  return path;
}

/** The path of this operation for a claim; of a new claim in the same cluster if it is to be accepted. */
function pathFor(operation: string, path: string): string {
  if (operation.startsWith('PUT')) return path.replace(/claims\/[^?]*/, `claims/${newClaimId()}`);
  return under(path, /\{id\}(.*)$/.exec(operation)?.[1] ?? '');
}

async function pushOwn(nodes: number): Promise<void> {
  const pushed = await send(
    service.url,
    withHeaders(
      json('PUT', snapshotPath(OWN), snapshotJson(OWN, ++counter, nodes)),
      bearer(tokens.get('agent')),
    ),
  );
  expect(pushed.status).toBe(200);
}

/** @returns the path of a live claim whose cluster is out of the map */
async function claimOfAnOmittedCluster(): Promise<string> {
  const agent = bearer(await service.issue('AGENT', LEAVING));
  await send(
    service.url,
    withHeaders(json('PUT', snapshotPath(LEAVING), snapshotJson(LEAVING, ++counter)), agent),
  );
  const path = claimPath(newClaimId(), LEAVING);
  expect((await asScheduler(json('PUT', path, ONE_POD))).status).toBe(201);
  const left = await send(
    service.url,
    withHeaders({ method: 'DELETE', path: `/v1/clusters/${LEAVING}` }, bearer(service.adminToken)),
  );
  expect(left.status).toBe(200);
  return path;
}

/** A request to change the claim at that path; where claims are accepted, to replace it. */
async function changeOf(
  operation: string,
  { path: _, ...request }: Call,
  path: string,
  who: string,
): Promise<OperationResponse> {
  const caller = bearer(tokens.get(who));
  if (!operation.startsWith('PUT')) {
    return send(service.url, withHeaders({ ...request, path: pathFor(operation, path) }, caller));
  }
  const replaces = /claims\/([^?]*)/.exec(path)?.[1];
  const replacing = json('PUT', claimPath(newClaimId()), { ...ONE_POD, jobId: 'another', replaces });
  return send(service.url, withHeaders(replacing, caller));
}

/** One more request than may wait for claims at a time. */
async function waitsOfClaims(operation: string): Promise<OperationResponse> {
  const path = await acceptedClaim();
  const listed = await asScheduler({ method: 'GET', path: '/v1/claims' });
  const waiting: Call = {
    method: 'GET',
    path: operation.endsWith('}') ? path : '/v1/claims',
    headers: { prefer: 'wait=20', 'if-none-match': listed.headers.get('etag') ?? '' },
  };
  const held = Array.from({ length: MAX_WAITS_PER_CALLER + 1 }, () => asScheduler(waiting));
  const refused = await Promise.race(held);
  // The end of the claim ends the others.
  await freeOwn();
  for (const each of await Promise.all(held)) described.check(operation, each);
  return refused;
}

/** A bundle of a pool that there is none of: it is stored, and has no place. */
const OTHERWHERE = { pool: 'otherwhere', jobs: [{ jobName: 'j' }] };
const NOWHERE = { pool: 'nowhere', jobs: [{ jobName: 'j' }] };

/** A bundle of a scheduler that was just stored. @returns its path */
async function storedBundle(body: unknown = NOWHERE): Promise<string> {
  const path = `/v1/bundles/b${++bundles}`;
  const stored = await asScheduler(json('PUT', path, body));
  expect(stored.status).toBe(201);
  described.check('PUT /v1/bundles/{id}', stored);
  return path;
}

/** A bundle of which something may run, since it was placed. */
async function placedBundle(): Promise<string> {
  const pool = await madePool();
  // Nothing in it uses an accelerator, so that nothing is claimed.
  return storedBundle({
    pool: decodeURIComponent(pool.path.split('/').at(-1) ?? ''),
    jobs: [{ jobName: 'j' }],
  });
}

/** What the operation does to a bundle that is being deleted, while something of it may still be started. */
async function deletingBundle(operation: string): Promise<OperationResponse> {
  const clusterId = `of-bundles-${++bundles}`;
  const agent = bearer(await service.issue('AGENT', clusterId));
  const pushed = await send(
    service.url,
    withHeaders(json('PUT', snapshotPath(clusterId), snapshotJson(clusterId, ++counter)), agent),
  );
  expect(pushed.status).toBe(200);
  const pool = `pool-${clusterId}`;
  const put = json('PUT', `/v1/pools/${pool}`, { tiers: [{ cluster: { clusterId: [clusterId] } }] });
  expect((await send(service.url, withHeaders(put, bearer(service.adminToken)))).status).toBe(201);
  const requirements = { requiredCapabilities: [{ name: 'resource-map/accelerator', count: 1 }] };
  const path = await storedBundle({ pool, jobs: [{ jobName: 'j', requirements }] });
  const deleted = await asScheduler({ method: 'DELETE', path });
  expect(deleted.status).toBe(200);
  described.check('DELETE /v1/bundles/{id}', deleted);
  return ofBundle(operation, path, 'scheduler', operation.startsWith('PUT') ? OTHERWHERE : undefined, {
    'if-match': '*',
  });
}

/** Of the bundle at the path what the operation does. */
async function ofBundle(
  operation: string,
  path: string,
  as: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<OperationResponse> {
  const suffix = operation.split('{id}')[1]?.replace('{copy}', 'primary') ?? '';
  const [method = ''] = operation.split(' ');
  const made =
    method === 'PUT' || suffix === '/stop-time'
      ? json(method, path + suffix, body ?? (method === 'PUT' ? NOWHERE : { stopAt: '2100-01-01T00:00:00Z' }))
      : { method, path: path + suffix };
  return send(service.url, withHeaders(made, { ...bearer(tokens.get(as)), ...headers }));
}

/** A pool that was just made. @returns its path and ETag */
async function madePool(): Promise<{ readonly path: string; readonly etag: string }> {
  const { path } = await good('PUT /v1/pools/{name}');
  const made = await send(service.url, withHeaders(json('PUT', path, POOL), bearer(service.adminToken)));
  expect(made.status).toBe(201);
  return { path, etag: String(described.check('PUT /v1/pools/{name}', made).etag) };
}

async function good(operation: string): Promise<Call> {
  const make = GOOD[operation];
  if (make === undefined) throw new Error(`No good request of ${operation} is known here; add one to GOOD.`);
  return make();
}

const permissionOf = (operation: string): Permission => PERMISSIONS.get(operation) ?? {};

/** Headers of somebody who may do it. */
function admitted(operation: string): Readonly<Record<string, string>> {
  const permission = permissionOf(operation);
  if (permission === 'open') return {};
  const role = (['admin', 'scheduler', 'agent'] as const).find((each) => permission[each] !== undefined);
  return bearer(tokens.get(role ?? ''));
}

/** A good request by somebody who may, changed. */
async function call(
  operation: string,
  change: (call: Call) => Call = (as) => as,
): Promise<OperationResponse> {
  return send(service.url, change(withHeaders(await good(operation), admitted(operation))));
}

const withPath =
  (path: string): ((call: Call) => Call) =>
  (as) => ({ ...as, path });
const withQuery = (as: Call): Call => ({ ...as, path: `${as.path.split('?')[0]}?no_such=1` });
const bodyOf =
  (type: string, body: string | Uint8Array): ((call: Call) => Call) =>
  (as) =>
    withBody(as, type, body);
const jsonBody = (body: string | Uint8Array): ((call: Call) => Call) => bodyOf('application/json', body);
const encoded =
  (encoding: string): ((call: Call) => Call) =>
  (as) =>
    withHeaders(as, { 'content-encoding': encoding });

async function raw(operation: string, headers: Readonly<Record<string, string>>): Promise<OperationResponse> {
  const { method, path } = await good(operation);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const response = await sendRaw(service.url, `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
  return { status: response.status, headers: headersOf(response.headers), body: Buffer.from(response.body) };
}

/** Answers of the app without a server in front of it, all of them asked for at once. */
async function inProcess(
  operation: string,
  requests: number,
  init: () => RequestInit,
): Promise<readonly OperationResponse[]> {
  const app = unconnectedApp();
  const { method, path } = await good(operation);
  const responses = Array.from({ length: requests }, async () =>
    app.fetch(new Request(`http://localhost${path}`, { method, duplex: 'half', ...init() } as RequestInit)),
  );
  return Promise.all(
    responses.map(async (response) => {
      const { status, headers, body } = await response;
      return { status, headers, body: new Uint8Array(await new Response(body).arrayBuffer()) };
    }),
  );
}

/** What a sync asks whose caller has this map. */
function clockOf(map: Uint8Array): string {
  const { vectorClock } = JSON.parse(Buffer.from(map).toString()) as { vectorClock: object };
  return JSON.stringify({ vectorClock });
}

/** How each problem is brought about. */
const PROVOKE: Readonly<Record<string, (operation: string) => Promise<OperationResponse>>> = {
  malformed_request: (operation) => raw(operation, {}),
  headers_too_large: (operation) => raw(operation, { host: 'a', 'x-large': 'a'.repeat(MAX_HEADER_BYTES) }),
  internal: async (operation) =>
    send(trustFaulty.url, withHeaders(await good(operation), bearer(newToken()))),
  store_unavailable: async (operation) =>
    send(trustAway.url, withHeaders(await good(operation), bearer(newToken()))),
  unauthenticated: async (operation) => send(service.url, await good(operation)),
  invalid_token: (operation) => call(operation, (as) => withHeaders(as, bearer('nonsense'))),
  issuer_unavailable: (operation) =>
    call(operation, (as) => withHeaders(as, bearer(tokens.get('of an issuer that is away')))),
  forbidden: async (operation) => {
    const permission = permissionOf(operation);
    const role = (['agent', 'scheduler', 'admin', 'monitor'] as const).find((each: Role) => {
      const reach = permission === 'open' ? 'all' : permission[each];
      return (
        reach === undefined || reach === 'own' || (reach === 'filtered' && operation.includes('claims/{id}'))
      );
    });
    return call(operation, (as) =>
      withHeaders(as, bearer(tokens.get(role === 'agent' ? 'agent of another' : (role ?? '')))),
    );
  },
  not_acceptable: (operation) => call(operation, (as) => withHeaders(as, { accept: 'image/png' })),
  invalid_query: (operation) => call(operation, withQuery),
  invalid_cluster_id: (operation) =>
    operation.includes('claims')
      ? call(operation, (as) => ({ ...as, path: `${as.path.split('?')[0]}?cluster=%00` }))
      : call(operation, withPath(`/v1/clusters/%ff${operation.endsWith('/snapshot') ? '/snapshot' : ''}`)),

  // Of a message that may be left out, no bytes are a fault only if they were compressed.
  empty_body: (operation) =>
    /(?:confirm|renew)$/.test(operation)
      ? call(operation, (as) => encoded('gzip')(jsonBody(gzipSync(''))(as)))
      : call(operation, jsonBody('')),
  malformed_json: (operation) => call(operation, jsonBody('{"no": "such"')),
  malformed_protobuf: (operation) => call(operation, bodyOf('application/x-protobuf', Uint8Array.of(0xff))),
  malformed_encoding: (operation) => call(operation, encoded('gzip')),
  unsupported_encoding: (operation) => call(operation, encoded('br')),
  unsupported_media_type: (operation) => call(operation, bodyOf('text/plain', 'a')),
  nested_too_deeply: (operation) => call(operation, jsonBody('['.repeat(100))),
  too_many_elements: (operation) =>
    call(
      operation,
      jsonBody(
        JSON.stringify(
          Object.fromEntries(Array.from({ length: MAX_DISTINCT_KEYS + 1 }, (_, i) => [`a${i}`, 0])),
        ),
      ),
    ),
  body_too_large: (operation) =>
    raw(operation, {
      host: 'a',
      ...admitted(operation),
      'content-type': 'application/json',
      'content-length': String(2 ** 30),
    }),
  incomplete_body: async (operation) => {
    const [response] = await inProcess(operation, 1, () => ({
      headers: { 'content-type': 'application/json' },
      body: new ReadableStream({ start: (controller) => controller.error(new Error('The client is gone.')) }),
    }));
    if (response === undefined) throw new Error('No response.');
    return response;
  },
  overloaded: async (operation) => {
    const zeros = gzipSync(Buffer.alloc(64 * 1024));
    const responses = await inProcess(operation, MAX_WAITING_INFLATES + 10, () => ({
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: zeros,
    }));
    const refused = responses.find(({ status }) => status === 503);
    if (refused === undefined) throw new Error('Nobody was refused.');
    return refused;
  },

  not_found: (operation) =>
    call(operation, (as) => {
      const [before = '', after = ''] = operation.replace(/^\S+ /, '').split(/\{[^}]*\}/);
      return { ...as, path: before + after };
    }),
  cluster_not_found: (operation) =>
    operation.includes('claims')
      ? call(operation, (as) => ({ ...as, path: as.path.replace(/cluster=[^&]*/, 'cluster=nobody') }))
      : call(operation, withPath(`/v1/clusters/nobody${operation.endsWith('/snapshot') ? '/snapshot' : ''}`)),
  cluster_omitted: async (operation) =>
    operation.includes('claims')
      ? call(operation, withPath(pathFor(operation, await claimOfAnOmittedCluster())))
      : call(operation, withPath(snapshotPath(GONE))),
  snapshot_unavailable: async (operation) =>
    operation.includes('claims')
      ? send(narrow.url, { ...(await good(operation)), path: pathFor(operation, unreadableClaim) })
      : send(narrow.url, { method: 'GET', path: snapshotPath(BODILESS) }),
  map_too_large: async (operation) => send(narrow.url, await good(operation)),
  too_many_waits: async (operation) => {
    if (operation.includes('claims')) return waitsOfClaims(operation);
    // What is asked for of what is there already is held, whether by tag or by clock.
    const { headers, body } = await call('GET /v1/map');
    const waiting = (as: Call): Call => {
      const sync = operation.endsWith('/sync') ? jsonBody(clockOf(body))(as) : as;
      return withHeaders(sync, { prefer: 'wait=20', 'if-none-match': headers.get('etag') ?? '' });
    };
    const held = Array.from({ length: MAX_WAITS_PER_CALLER + 1 }, () => call(operation, waiting));
    const refused = await Promise.race(held);
    // A change ends the others.
    await call('PUT /v1/clusters/{id}/snapshot');
    await Promise.all(held);
    return refused;
  },

  invalid_snapshot: (operation) => call(operation, jsonBody('{"logicalCounter": "1000"}')),
  counter_regressed: (operation) => call(operation, jsonBody(snapshotJson(OWN, 1n))),
  counter_reused: async (operation) => {
    described.check(operation, await call(operation));
    const used = counter;
    return call(operation, jsonBody(snapshotJson(OWN, used, 99)));
  },

  invalid_fit_request: (operation) =>
    call(
      operation,
      jsonBody(
        operation.includes('claims')
          ? JSON.stringify({ ...ONE_POD, ranks: [{ podRequirements: [{}] }] })
          : '{}',
      ),
    ),
  unknown_chain: (operation) =>
    call(
      operation,
      jsonBody(
        JSON.stringify({
          shapes: [{ podRequirements: [{ acceleratorCount: 1 }] }],
          released: [{ clusterId: 'nobody', jobId: 'j', rankId: 'r', chainId: 'c' }],
        }),
      ),
    ),

  invalid_claim: (operation) =>
    call(operation, (as) => ({ ...as, path: as.path.replace(/claims\/[^/?]*/, 'claims/nonsense') })),
  claim_not_found: async (operation) =>
    changeOf(operation, await good(operation), claimPath(newClaimId()), 'scheduler'),
  claim_of_another: async (operation) => {
    // A good request frees the cluster first, so the claim that is tried is made in between.
    const request = await good(operation);
    const path = claimPath(newClaimId());
    expect((await asScheduler(json('PUT', path, ONE_POD))).status).toBe(201);
    return changeOf(operation, request, path, 'another scheduler');
  },
  claim_exists: async () => asScheduler(json('PUT', await acceptedClaim(), { ...ONE_POD, jobId: 'another' })),
  claim_ended: async (operation) => {
    const request = await good(operation);
    const path = claimPath(newClaimId());
    described.check('DELETE /v1/claims/{id}', await asScheduler({ method: 'DELETE', path }));
    return operation.startsWith('PUT')
      ? asScheduler(json('PUT', path, ONE_POD))
      : changeOf(operation, request, path, 'scheduler');
  },
  claim_does_not_fit: async () => {
    await acceptedClaim({ jobId: 'job', ranks: [{ podRequirements: [{ acceleratorCount: 8 }] }] });
    return asScheduler(json('PUT', claimPath(newClaimId()), { ...ONE_POD, jobId: 'another' }));
  },
  claim_unbacked: async (operation) => {
    await pushOwn(2);
    const path = await acceptedClaim({
      jobId: 'job',
      ranks: [{ chains: 2, podRequirements: [{ acceleratorCount: 8 }] }],
    });
    await pushOwn(1);
    return asScheduler({ method: 'POST', path: pathFor(operation, path) });
  },
  too_many_claims: async () => {
    await freeOwn();
    await pushOwn(5);
    for (let claims = 0; claims < MAX_CLAIMS_PER_OWNER; claims++) {
      const accepted = await asScheduler(
        json('PUT', claimPath(newClaimId()), { ...ONE_POD, jobId: `j${claims}` }),
      );
      expect(accepted.status).toBe(201);
    }
    const refused = await asScheduler(json('PUT', claimPath(newClaimId()), ONE_POD));
    await pushOwn(1);
    return refused;
  },

  invalid_bundle_request: (operation) =>
    operation.endsWith('/stop-time')
      ? call(operation, jsonBody('{"stopAt": "1960-01-01T00:00:00Z"}'))
      : operation.includes('bundles/{id}')
        ? call(operation, (as) => ({ ...as, path: as.path.replace(/bundles\/[^/]+/, 'bundles/PLAN') }))
        : call(operation, jsonBody('{}')),
  bundle_not_found: (operation) => ofBundle(operation, '/v1/bundles/nobody', 'scheduler'),
  bundle_of_another: async (operation) =>
    ofBundle(
      operation,
      await storedBundle(),
      'another scheduler',
      operation.startsWith('PUT') ? OTHERWHERE : undefined,
    ),
  bundle_changed: async (operation) => {
    const path = await storedBundle();
    const [method = ''] = operation.split(' ');
    const made = method === 'PUT' ? json(method, path, OTHERWHERE) : { method, path };
    return asScheduler(withHeaders(made, { 'if-match': '"another"' }));
  },
  bundle_running: async () => {
    const path = await placedBundle();
    return asScheduler(withHeaders(json('PUT', path, OTHERWHERE), { 'if-match': '*' }));
  },
  bundle_deleting: async (operation) => deletingBundle(operation),
  invalid_pool_name: (operation) => call(operation, withPath('/v1/pools/%ff')),
  pool_not_found: (operation) => call(operation, withPath('/v1/pools/nobody')),
  pool_changed: async (operation) => {
    const { path } = await madePool();
    // A change to what stands there already would be done, whatever was expected.
    const change = operation.startsWith('PUT') ? jsonBody(OTHER_POOL) : (as: Call): Call => as;
    return call(operation, (as) => withHeaders({ ...change(as), path }, { 'if-match': '"another"' }));
  },
  invalid_precondition: (operation) =>
    call(operation, (as) =>
      withHeaders(as, { [operation.startsWith('GET') ? 'if-none-match' : 'if-match']: 'no tag' }),
    ),
  precondition_required: async (operation) => {
    if (operation.includes('bundles')) return asScheduler(json('PUT', await storedBundle(), OTHERWHERE));
    const { path } = await madePool();
    return call(operation, (as) => ({ ...jsonBody(OTHER_POOL)(as), path }));
  },

  invalid_grant_request: (operation) => call(operation, jsonBody('{"role": "ROLE_AGENT"}')),
  grant_exists: async (operation) => {
    const again = withHeaders(await good(operation), admitted(operation));
    described.check(operation, await send(service.url, again));
    return send(service.url, again);
  },
  grant_not_found: (operation) =>
    call(
      operation,
      withPath(`/v1/${operation.includes('token') ? 'tokens' : 'registrations'}/${'0'.repeat(12)}`),
    ),
};

beforeAll(async () => {
  [service, issuer, trustAway, trustFaulty] = await Promise.all([
    startGuardedService(),
    startIssuer(),
    withoutTrust('away'),
    withoutTrust('faulty'),
  ]);
  tokens.set('admin', service.adminToken);
  tokens.set('scheduler', await service.issue('SCHEDULER'));
  tokens.set('another scheduler', await service.issue('SCHEDULER'));
  tokens.set('monitor', await service.issue('MONITOR'));
  tokens.set('agent', await service.issue('AGENT', OWN));
  tokens.set('agent of another', await service.issue('AGENT', 'another'));
  const goneAgent = await service.issue('AGENT', GONE);
  await registerIssuerThatIsAway();
  for (const [id, token] of [
    [OWN, tokens.get('agent')],
    [GONE, goneAgent],
  ] as const) {
    const pushed = await send(
      service.url,
      withHeaders(json('PUT', snapshotPath(id), snapshotJson(id, ++counter)), bearer(token)),
    );
    described.check('PUT /v1/clusters/{id}/snapshot', pushed);
  }
  described.check('DELETE /v1/clusters/{id}', await call('DELETE /v1/clusters/{id}'));
  await startNarrow();
});
afterAll(() =>
  Promise.all([service.close(), issuer.close(), trustAway.close(), trustFaulty.close(), narrow.close()]),
);

async function registerIssuerThatIsAway(): Promise<void> {
  const iss = 'https://away.example';
  const registration = {
    issuer: iss,
    audience: AUDIENCE,
    subject: 'away',
    role: 'ROLE_ADMIN',
    jwksUri: 'http://127.0.0.1:1/keys',
  };
  described.check(
    'POST /v1/registrations',
    await send(
      service.url,
      withHeaders(json('POST', '/v1/registrations', registration), bearer(service.adminToken)),
    ),
  );
  tokens.set('of an issuer that is away', await issuer.token({ iss, sub: 'away' }));
}

async function startNarrow(): Promise<void> {
  const [engine] = engines;
  if (engine === undefined) throw new Error('No engine runs.');
  const store = await freshStore(engine);
  const ledgers = await freshLedgers(store.client);
  narrow = await behindANarrowFront(store, ledgers, store.client);
  for (const id of [OWN, BODILESS]) {
    expect((await send(narrow.url, json('PUT', snapshotPath(id), snapshotJson(id, 1n)))).status).toBe(200);
  }
  unreadableClaim = claimPath(newClaimId(), BODILESS);
  const accepted = await claimsOf(store, ledgers).request(unreadableClaim, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ONE_POD),
  });
  expect(accepted.status).toBe(201);
  const head = await store.heads.read(BODILESS);
  if (head === undefined) throw new Error('No head.');
  for (let part = 0; part < head.body.parts; part++) {
    const key = { bodyId: { B: contentKey(head.body) }, part: { N: String(part) } };
    await store.client.send(new DeleteItemCommand({ TableName: store.tables.contents, Key: key }));
  }
}

describe('The document', () => {
  it('has every route of the API, and no other', () => {
    const routes = unconnectedApp()
      .routes.filter((route) => route.method !== 'ALL' && isApiRoute(routeName(route)))
      .map(routeName);
    expect([...OPERATIONS].sort()).toEqual([...new Set(routes)].sort());
    expect(OPERATIONS.length).toBeGreaterThan(18);
  });

  it('is served, and is still the same for who has it', async () => {
    const response = await call('GET /openapi.json');
    expect(described.check('GET /openapi.json', response)).toEqual(document);
    const again = await call('GET /openapi.json', (as) =>
      withHeaders(as, { 'if-none-match': response.headers.get('etag') ?? '' }),
    );
    expect(again.status).toBe(304);
    described.check('GET /openapi.json', again);
  });

  it('is listed with everything else that there is', async () => {
    const { resources } = described.check('GET /', await call('GET /')) as { resources: string[] };
    // The events are a local service's own, and not of the API.
    expect([...resources].sort()).toEqual([...OPERATIONS, 'GET /local/events'].sort());
  });
});

describe('As described, a good request succeeds:', () => {
  it.each(OPERATIONS)('%s', async (operation) => {
    for (const accept of [
      'application/json',
      'application/x-protobuf',
      'application/protobuf',
      '*/*',
      undefined,
    ]) {
      for (const encoding of ['identity', 'gzip']) {
        const response = await call(operation, (as) =>
          withHeaders(as, { ...(accept === undefined ? {} : { accept }), 'accept-encoding': encoding }),
        );
        expect(response.status).toBeLessThan(300);
        const zipped = response.headers.get('content-encoding') === 'gzip';
        if (encoding === 'identity') expect(zipped).toBe(false);
        described.check(operation, zipped ? { ...response, body: gunzipSync(response.body) } : response);
      }
    }
  });

  it.each(OPERATIONS.filter((operation) => described.operation(operation).responses['304'] !== undefined))(
    '%s, where nothing is new',
    async (operation) => {
      const asked = withHeaders(await good(operation), admitted(operation));
      const first = await send(service.url, asked);
      const headers = { 'if-none-match': first.headers.get('etag') ?? '' };
      const second = await send(service.url, withHeaders(asked, headers));
      expect(second.status).toBe(304);
      described.check(operation, second);
    },
  );

  it.each(OPERATIONS.filter((operation) => described.operation(operation).requestBody !== undefined))(
    '%s, with its body in Protobuf, and in gzip',
    async (operation) => {
      const schema = described.requestMessage(operation);
      for (const type of ['application/x-protobuf', 'application/protobuf']) {
        const inProtobuf = await call(operation, (as) =>
          withBody(as, type, toBinary(schema, fromJsonString(schema, String(as.body)))),
        );
        expect([200, 201]).toContain(inProtobuf.status);
        described.check(operation, inProtobuf);
      }
      const inGzip = await call(operation, (as) =>
        withHeaders(withBody(as, 'application/json', gzipSync(String(as.body))), {
          'content-encoding': 'gzip',
        }),
      );
      expect([200, 201]).toContain(inGzip.status);
      described.check(operation, inGzip);
    },
  );

  it.each(['GET /v1/map', 'POST /v1/map/sync', 'GET /v1/wait/map', 'POST /v1/wait/map/sync'])(
    '%s, with a wait that is granted',
    async (operation) => {
      const response = await call(operation, (as) => withHeaders(as, { prefer: 'wait=1' }));
      expect(response.headers.get('preference-applied')).toBe('wait=1');
      described.check(operation, response);
    },
  );

  it.each(OPERATIONS.filter((operation) => exampleOf(operation) !== undefined))(
    '%s, with the example of the document',
    async (operation) => {
      const example = exampleOf(operation) as { clusterId?: string };
      const agent = await service.issue('AGENT', 'kops-l4');
      const response = await call(operation, (as) =>
        withBody(
          withHeaders(
            operation.includes('claims')
              ? as
              : { ...as, path: as.path.replace(encodeURIComponent(OWN), 'kops-l4') },
            operation.startsWith('PUT /v1/clusters') ? bearer(agent) : {},
          ),
          'application/json',
          JSON.stringify(example),
        ),
      );
      expect([200, 201]).toContain(response.status);
      described.check(operation, response);
    },
  );

  it('PUT of a claim that was accepted before, and one that is only tried', async () => {
    const path = await acceptedClaim();
    for (const same of [path, `${claimPath(newClaimId())}&dry_run=true`]) {
      const response = await asScheduler(json('PUT', same, ONE_POD));
      expect(response.status).toBe(200);
      described.check('PUT /v1/claims/{id}', response);
    }
  });

  it('PUT and DELETE of a pool, for who has seen it', async () => {
    const { path, etag } = await madePool();
    const admin = bearer(service.adminToken);
    const replaced = await send(
      service.url,
      withHeaders(json('PUT', path, { tiers: [{ cluster: {} }] }), { ...admin, 'if-match': etag }),
    );
    expect(replaced.status).toBe(200);
    described.check('PUT /v1/pools/{name}', replaced);
    const removed = await send(service.url, {
      method: 'DELETE',
      path,
      headers: { ...admin, 'if-match': replaced.headers.get('etag') ?? '' },
    });
    expect(removed.status).toBe(204);
    described.check('DELETE /v1/pools/{name}', removed);
  });

  it('everything that reads, with real snapshots in the map', async () => {
    for (const file of readdirSync(SAMPLES).filter((name) => name.endsWith('.json'))) {
      const snapshot = readFileSync(new URL(file, SAMPLES), 'utf8');
      const { cluster } = JSON.parse(snapshot) as { cluster: { clusterId: string } };
      const agent = bearer(await service.issue('AGENT', cluster.clusterId));
      const pushed = await send(
        service.url,
        withHeaders(json('PUT', snapshotPath(cluster.clusterId), snapshot), agent),
      );
      expect(pushed.status).toBe(200);
      described.check('PUT /v1/clusters/{id}/snapshot', pushed);
      const served = await send(
        service.url,
        withHeaders({ method: 'GET', path: snapshotPath(cluster.clusterId) }, agent),
      );
      described.check('GET /v1/clusters/{id}/snapshot', served);
    }
    const groups = '?group_by=cluster,accelerator_model&purchase_model=on_demand&purchase_model=spot';
    for (const [operation, query] of [
      ['GET /v1/clusters', ''],
      ['GET /v1/map', ''],
      ['GET /v1/map', '?region=us-east-1&region=nowhere'],
      ['GET /v1/map/clock', '?cluster=openb-instant'],
      ['POST /v1/map/sync', ''],
      ['GET /v1/capacity', ''],
      ['GET /v1/capacity', groups],
      ['GET /v1/capacity', '?rdma_ready=false&eligible=true'],
      ['POST /v1/capacity/fit', ''],
      ['POST /v1/bundles/plan', ''],
      ['POST /v1/bundles/validate', ''],
    ] as const) {
      const response = await call(operation, (as) => ({ ...as, path: as.path + query }));
      expect([operation, response.status]).toEqual([operation, 200]);
      described.check(operation, response);
    }
  });

  it('a snapshot with an enum of a newer agent', async () => {
    const snapshot = clusterSnapshot(OWN, { counter: ++counter });
    const [nodeType] = snapshot.capacityPools[0]?.nodeTypes ?? [];
    if (nodeType !== undefined) nodeType.purchaseModel = 77 as PurchaseModel;
    const body = toJsonString(ClusterResourceMapSchema, snapshot);
    const operation = 'PUT /v1/clusters/{id}/snapshot';
    expect(described.check(operation, await call(operation, jsonBody(body))).warnings).toContainEqual(
      expect.objectContaining({ code: 'unknown_enum_value' }),
    );
    const served = await call('GET /v1/clusters/{id}/snapshot');
    expect(described.check('GET /v1/clusters/{id}/snapshot', served)).toMatchObject({
      capacityPools: [{ nodeTypes: [{ purchaseModel: 77 }] }],
    });
    for (const reader of ['GET /v1/map', 'GET /v1/capacity', 'GET /v1/clusters/{id}']) {
      described.check(reader, await call(reader));
    }
  });
});

function exampleOf(operation: string): unknown {
  return described.operation(operation).requestBody?.content['application/json']?.example;
}

function isListed(response: string): boolean {
  return NOT_PROVOKED.some(([responses]) => responses.test(response));
}

/** Operations on which a problem can be tried at all, where those are not all. */
const TRIED_ON: Readonly<Record<string, RegExp>> = {
  not_found: /\{/,
  invalid_cluster_id: /(?:clusters|claims)\/\{id|^GET \/v1\/claims$/,
  cluster_not_found: /(?:clusters|claims)\/\{id/,
  cluster_omitted: /\/snapshot$|^(?:PUT|POST) .*claims\/\{id/,
  snapshot_unavailable: /^GET .*\/snapshot$|^(?:PUT|POST) .*claims\/\{id/,
  map_too_large: / \/v1\/(?:(?:wait\/)?map|clusters|snapshots|capacity|bundles|claims$|pools$)/,
  invalid_claim: /claims\/\{id/,
  // Of one that is not known, a release leaves a tombstone.
  claim_not_found: /claims\/\{id/,
  claim_of_another: /^(?:PUT|POST|DELETE) .*claims\/\{id/,
  claim_exists: /^PUT .*claims\/\{id/,
  claim_ended: /^(?:PUT|POST) .*claims\/\{id/,
  claim_does_not_fit: /^PUT .*claims\/\{id/,
  claim_unbacked: /claims\/\{id\}\/confirm/,
  too_many_claims: /^PUT .*claims\/\{id/,
  invalid_pool_name: /pools\/\{name/,
  // A PUT there makes it.
  pool_not_found: /^(?:GET|DELETE) .*pools\/\{name/,
  pool_changed: /pools\/\{name/,
  precondition_required: /pools\/\{name|^PUT .*bundles\/\{id/,
  bundle_not_found: /^(?:GET|POST|DELETE) .*bundles\/\{id/,
  bundle_of_another: /^(?:PUT|POST|DELETE) .*bundles\/\{id/,
  bundle_changed: /^(?:PUT|DELETE) .*bundles\/\{id/,
  bundle_running: /^PUT .*bundles\/\{id/,
  bundle_deleting: /^(?:PUT|POST) .*bundles\/\{id/,
  too_many_bundles: /^PUT .*bundles\/\{id/,
  grant_not_found: /^DELETE .*\/(?:registrations|tokens)/,
  too_many_waits: / \/v1\/(?:wait\/)?map(?:\/sync)?$|^GET \/v1\/claims/,
  incomplete_body: /^(?:PUT|POST) /,
  overloaded: /^(?:PUT|POST) /,
};

describe('As described, what goes wrong is told with its code:', () => {
  it('every code is one that there is', () => {
    const codes = Object.keys(PROBLEMS);
    expect(
      [...Object.keys(PROVOKE), ...Object.keys(TRIED_ON)].filter((code) => !codes.includes(code)),
    ).toEqual([]);
  });

  it.each(OPERATIONS)('%s', async (operation) => {
    const codes = described.codes(operation);
    const known = Object.keys(PROVOKE);
    const unknown = codes.filter((code) => !known.includes(code) && !isListed(`${operation} ${code}`));
    expect(unknown, 'Nobody knows how to bring these about; say how in PROVOKE').toEqual([]);
    // Those that are not described are tried as well: whatever comes of it must be.
    for (const [code, provoke] of Object.entries(PROVOKE)) {
      if (TRIED_ON[code]?.test(operation) === false) continue;
      const problem = described.check(operation, await provoke(operation));
      if (!codes.includes(code) || isListed(`${operation} ${code}`)) continue;
      expect([operation, problem.code], String(problem.detail)).toEqual([operation, code]);
    }
  });
});

describe('Of what is described', () => {
  it('everything was seen, but for what is listed', () => {
    expect(described.unseen.filter((response) => !isListed(response))).toEqual([]);
  });

  it('what is listed is described, and was not seen', () => {
    for (const [responses] of NOT_PROVOKED) {
      const listed = [...described.described].filter((response) => responses.test(response));
      expect([responses, listed.length > 0]).toEqual([responses, true]);
      expect([responses, listed.filter((response) => !described.unseen.includes(response))]).toEqual([
        responses,
        [],
      ]);
    }
  });
});
