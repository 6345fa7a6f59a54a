import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createRequire, SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { fromBinary } from '@bufbuild/protobuf';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2, Context } from 'aws-lambda';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { newToken, tokenDigest } from '../../functions/auth/static-token.ts';
import { encodeContent } from '../../functions/core/snapshot/canonical.ts';
import { GlobalResourceMapSchema } from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { type EmbeddedDynamo, startDynalite } from '../../functions/local/dynalite.ts';
import { bundlesTableDefinition } from '../../functions/storage/bundles.ts';
import { dynamoClient } from '../../functions/storage/client.ts';
import { createTable, createTables } from '../../functions/storage/create-tables.ts';
import { claimsTableDefinition } from '../../functions/storage/ledgers.ts';
import { poolsTableDefinition } from '../../functions/storage/pools.ts';
import { registrationsTableDefinition } from '../../functions/storage/registrations.ts';
import { type Bundle, bundleFunction, bundleFunctions, ROOT } from '../../infra/bundling.ts';
import { FUNCTION_NAMES, FUNCTIONS, type FunctionName } from '../../infra/functions.ts';
import {
  type ClientRequest,
  type ClientResponse,
  clientResponse,
  httpEvent,
  lambdaContext,
} from './http-event.ts';
import { encode, snapshotOf } from './snapshots.ts';

/** No bundle may pass it: a cold start loads every byte. */
const MAX_BYTES = 800_000;

/**
 * What each has now, rounded up. A bundle that outgrows its number is to be looked into
 * (esbuild's metafile says what came in) before the number is raised.
 */
const EXPECTED_BYTES: Readonly<Record<FunctionName, number>> = {
  push: 552_000,
  map: 566_000,
  wait: 532_000,
  plan: 752_000,
  access: 460_000,
  // Most of it is the OpenAPI document and the page, which are read when they are asked for.
  about: 364_000,
  notify: 393_000,
  expire: 342_000,
  sweep: 417_000,
};
/** What the SDK asks for within a `try`: signatures for endpoints of several regions, which we have none of. */
const OPTIONAL = new Set(['@aws-sdk/signature-v4-crt']);

/** Packages that a function may hold; whatever else comes in is to be looked into, and docs/security.md to say so. */
const EXPECTED_PACKAGES = ['@bufbuild/protobuf', 'fastest-levenshtein', 'hono', 'jose'];
/** The scopes of the AWS SDK and of Powertools, and what those bring. */
const OF_AWS = /^@(?:aws|aws-sdk|aws-lambda-powertools|smithy)\/|^(?:bowser|mnemonist|obliterator)$/;

/** A number this far above the truth no longer guards anything. */
const SLACK_BYTES = 30_000;

let folder: string;
let bundles: ReadonlyMap<FunctionName, Bundle>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bundles-'));
  bundles = await bundleFunctions(FUNCTION_NAMES, folder);
});
afterAll(() => rm(folder, { recursive: true }));

function bundleOf(name: FunctionName): Bundle {
  const bundle = bundles.get(name);
  if (bundle === undefined) throw new Error(`${name} was not built`);
  return bundle;
}

describe('the table of functions', () => {
  test('names every folder that has a handler', async () => {
    const folders = (await readdir(join(ROOT, 'functions/lambdas'))).filter((name) =>
      existsSync(join(ROOT, 'functions/lambdas', name, 'handler.ts')),
    );
    expect(
      [
        ...folders.map((name) => `functions/lambdas/${name}/handler.ts`),
        'functions/lambdas/map/wait-handler.ts',
      ].sort(),
    ).toEqual(FUNCTION_NAMES.map((name): string => FUNCTIONS[name].entry).sort());
  });
});

describe.each(FUNCTION_NAMES)('the bundle of %s', (name) => {
  test('has the size that is known, and less than 800 KB', () => {
    const { bytes } = bundleOf(name);
    expect(bytes).toBeLessThan(MAX_BYTES);
    expect(bytes).toBeLessThanOrEqual(EXPECTED_BYTES[name]);
    expect(bytes).toBeGreaterThan(EXPECTED_BYTES[name] - SLACK_BYTES);
  });

  test('is the same, byte for byte, wherever it is built', async () => {
    const elsewhere = await mkdtemp(join(tmpdir(), 'bundles-elsewhere-'));
    try {
      const again = await bundleFunction(name, join(elsewhere, 'deeper'));
      for (const file of ['index.js', 'index.js.map']) {
        const first = await readFile(join(bundleOf(name).folder, file), 'utf8');
        expect(await readFile(join(again.folder, file), 'utf8')).toBe(first);
        expect(first).not.toContain(ROOT);
      }
      expect((await readdir(again.folder)).sort()).toEqual(['index.js', 'index.js.map']);
    } finally {
      await rm(elsewhere, { recursive: true });
    }
  });

  test('needs nothing but what Node brings', async () => {
    const code = await readFile(bundleOf(name).file, 'utf8');
    const builtin = createRequire(import.meta.url)('node:module').builtinModules as readonly string[];
    const required = [...code.matchAll(/\brequire\("([^"]+)"\)/g)].map(([, id]) =>
      (id ?? '').replace(/^node:/, ''),
    );
    expect(required.length).toBeGreaterThan(0);
    expect(required.filter((id) => !builtin.includes(id) && !OPTIONAL.has(id))).toEqual([]);
  });

  test('maps its code to our sources, and to no library', async () => {
    const json = JSON.parse(await readFile(`${bundleOf(name).file}.map`, 'utf8'));
    const sources = json.sources as readonly string[];
    expect(sources).toContain(FUNCTIONS[name].entry);
    expect(sources.filter((source) => !/^(functions|infra)\/.*\.ts$/.test(source))).toEqual([]);
    const code = (await readFile(bundleOf(name).file, 'utf8')).split('\n');
    // The function that needs nothing reads no settings.
    const [text, source] =
      name === 'about'
        ? ['Search the service log for the request id', 'functions/core/errors.ts']
        : ['is not set; the deployed stack sets it', 'functions/runtime/settings.ts'];
    const line = code.findIndex((each) => each.includes(text));
    const column = code[line]?.indexOf(text) ?? -1;
    const entry = new SourceMap(json).findEntry(line, column);
    expect(entry).toMatchObject({ originalSource: source });
  });
});

test('the bundles hold the packages that docs/security.md names, and no other', async () => {
  const held = new Set([...bundles.values()].flatMap(({ packages }) => [...packages]));
  expect([...held].filter((name) => !OF_AWS.test(name)).sort()).toEqual(EXPECTED_PACKAGES);
  const page = await readFile(join(ROOT, 'docs/security.md'), 'utf8');
  for (const name of EXPECTED_PACKAGES) expect(page).toContain(`\`${name}\``);
});

describe('the built functions, given events of API Gateway', () => {
  const admin = newToken();
  const environment = {
    HEADS_TABLE: 'Heads',
    BODIES_TABLE: 'Bodies',
    HEAD_SHARDS: '4',
    TRUST_TABLE: 'Trust',
    POOLS_TABLE: 'Pools',
    CLAIMS_TABLE: 'Claims',
    BUNDLES_TABLE: 'Bundles',
    ADMIN_TOKEN_SHA256: tokenDigest(admin),
    MAX_CLOCK_AHEAD_SECONDS: '300',
    OMIT_AFTER_SECONDS: '900',
    RETIRE_AFTER_SECONDS: '86400',
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
  };
  let engine: EmbeddedDynamo;
  let agent: string;
  let scheduler: string;

  beforeAll(async () => {
    // Log lines and metrics, which the functions' own tests are about.
    for (const out of [process.stdout, process.stderr]) vi.spyOn(out, 'write').mockReturnValue(true);
    engine = await startDynalite();
    for (const [name, value] of Object.entries({ ...environment, DYNAMODB_ENDPOINT: engine.endpoint })) {
      vi.stubEnv(name, value);
    }
    const client = dynamoClient(engine.endpoint);
    await createTables(client, { heads: 'Heads', contents: 'Bodies', shards: 4 });
    await createTable(client, registrationsTableDefinition('Trust'));
    await createTable(client, poolsTableDefinition('Pools'));
    await createTable(client, claimsTableDefinition('Claims'));
    await createTable(client, bundlesTableDefinition('Bundles'));
    client.destroy();
    agent = await issue('ROLE_AGENT', clusterId);
    scheduler = await issue('ROLE_SCHEDULER');
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await engine.close();
  });

  /** Loads the bundle once, as the runtime does, and calls it. */
  async function call(
    name: FunctionName,
    request: ClientRequest,
    token: string | undefined = name === 'push' ? agent : scheduler,
  ): Promise<ClientResponse> {
    const { handler } = createRequire(import.meta.url)(bundleOf(name).file) as {
      handler: (
        event: APIGatewayProxyEventV2,
        context: Context,
      ) => Promise<APIGatewayProxyStructuredResultV2>;
    };
    const headers = { authorization: `Bearer ${token}`, ...request.headers };
    return clientResponse(await handler(httpEvent({ ...request, headers }), lambdaContext(name)));
  }

  /** Has the function that manages access issue a token. */
  async function issue(role: string, agentOf = ''): Promise<string> {
    const issued = await call(
      'access',
      {
        method: 'POST',
        target: '/v1/tokens',
        headers: { 'content-type': 'application/json' },
        body: Buffer.from(JSON.stringify({ role, clusterId: agentOf })),
      },
      admin,
    );
    return JSON.parse(issued.body.toString()).secret;
  }

  // An EKS cluster's ARN as its id: the front decodes %2F and %3A before the function sees the path.
  const clusterId = 'arn:aws:eks:eu-central-1:111122223333:cluster/gpu 50%';
  const path = `/v1/clusters/${encodeURIComponent(clusterId)}`;

  test('a compressed binary push in base64 is published, and the map has what it said', async () => {
    const snapshot = await snapshotOf('openb-instant-t2', { clusterId, counter: 7n });
    const pushed = await call('push', {
      method: 'PUT',
      target: `${path}/snapshot`,
      headers: { 'content-type': 'application/x-protobuf', 'content-encoding': 'gzip' },
      body: gzipSync(encode(snapshot)),
    });
    expect(JSON.parse(pushed.body.toString())).toMatchObject({
      outcome: 'PUSH_OUTCOME_PUBLISHED',
      clusterId,
      logicalCounter: '7',
      highWaterMark: '7',
    });
    expect(pushed.status).toBe(200);

    const response = await call('map', {
      method: 'GET',
      target: `/v1/map?cluster=${encodeURIComponent(clusterId)}`,
      headers: { accept: 'application/x-protobuf', 'accept-encoding': 'gzip' },
    });
    expect(response.status).toBe(200);
    expect(response.headers['content-encoding']).toBe('gzip');
    const map = fromBinary(GlobalResourceMapSchema, gunzipSync(response.body));
    expect(map.vectorClock).toEqual({ [clusterId]: 7n });
    expect(map.clusterResourceMaps.map(({ logicalCounter }) => logicalCounter)).toEqual([7n]);
    expect(map.clusterResourceMaps.map(encodeContent)).toEqual([encodeContent(snapshot)]);
  });

  test('a JSON push, sent as text, counts as the same push', async () => {
    const json = Buffer.from(
      JSON.stringify({
        cluster: { clusterId: 'text' },
        collectedAt: new Date().toISOString(),
        logicalCounter: '1',
      }),
    );
    const request = {
      method: 'PUT',
      target: '/v1/clusters/text/snapshot',
      headers: { 'Content-Type': 'application/json' },
      body: json,
    };
    const token = await issue('ROLE_AGENT', 'text');
    const outcomes = [await call('push', request, token), await call('push', request, token)].map(
      ({ body }) => JSON.parse(body.toString()).outcome,
    );
    expect(outcomes).toEqual(['PUSH_OUTCOME_PUBLISHED', 'PUSH_OUTCOME_ALREADY_PUBLISHED']);
  });

  test('a counter that went back is refused with the mark', async () => {
    const snapshot = await snapshotOf('kops-l4-t3', { clusterId, counter: 6n });
    const refused = await call('push', {
      method: 'PUT',
      target: `${path}/snapshot`,
      headers: { 'content-type': 'application/x-protobuf' },
      body: encode(snapshot),
    });
    expect(refused.status).toBe(409);
    expect(refused.headers['content-type']).toBe('application/problem+json');
    expect(JSON.parse(refused.body.toString())).toMatchObject({
      code: 'counter_regressed',
      highWaterMark: '7',
    });
  });

  test('a pool is kept under a name that the front has decoded, and bundles are planned on it', async () => {
    const headers = { 'content-type': 'application/json' };
    const target = `/v1/pools/${encodeURIComponent('gpu 50% ü')}`;
    const pool = Buffer.from(JSON.stringify({ tiers: [{ cluster: { clusterId: [clusterId] } }] }));
    const put = { method: 'PUT', target, headers, body: pool };
    expect((await call('plan', put)).status).toBe(403);
    const kept = await call('plan', put, admin);
    expect([kept.status, JSON.parse(kept.body.toString()).pool.poolName]).toEqual([201, 'gpu 50% ü']);

    const bundle = {
      bundleId: 'b',
      pool: 'gpu 50% ü',
      jobs: [{ jobName: 'a', requirements: { requiredGpuCapacity: 0.5 } }],
    };
    const ask = async (path: string, question: object) => {
      const response = await call('plan', {
        method: 'POST',
        target: path,
        headers,
        body: Buffer.from(JSON.stringify(question)),
      });
      return { status: response.status, body: JSON.parse(response.body.toString()) };
    };
    const map = await call('map', { method: 'GET', target: '/v1/map' });
    const { etag } = map.headers;
    expect(await ask('/v1/bundles/validate', { bundle })).toEqual({
      status: 200,
      body: { errors: [], warnings: [], advice: [], etag },
    });
    expect(await ask('/v1/bundles/plan', { bundles: [bundle] })).toMatchObject({
      status: 200,
      body: { bundles: [{ outcome: 'placed', copies: [{ placements: [{ node: { clusterId } }] }] }], etag },
    });
    expect((await call('plan', { method: 'DELETE', target }, admin)).status).toBe(204);
  });

  test('an omission takes the cluster out of the clock', async () => {
    const omitted = await call('push', { method: 'DELETE', target: `${path}?reason=drained` });
    expect(JSON.parse(omitted.body.toString())).toMatchObject({
      state: 'CLUSTER_STATE_OMITTED',
      omittedReason: 'drained',
      highWaterMark: '7',
    });
    const clock = await call('map', { method: 'GET', target: '/v1/map/clock' });
    expect(JSON.parse(clock.body.toString()).vectorClock).toEqual({ text: '1' });
  });

  // What the front has decoded must lead an agent to no other cluster than the encoded path would.
  test.each([
    '/v1/clusters/text',
    '/v1/clusters/%74ext',
    '/v1/clusters/%2574ext',
    `${path}/../text`,
    `${path}%2F..%2Ftext`,
    '/v1/clusters/text/snapshot',
    '/v1/clusters/text%2Fsnapshot',
    `${path}/snapshot/../../text/snapshot`,
    `${path}%23`,
    '/v1/clusters//text',
  ])('an agent does nothing with another cluster at %s', async (target) => {
    const requests = [
      ['map', 'GET'],
      ['push', 'DELETE'],
      ['push', 'PUT'],
    ] as const;
    for (const [name, method] of requests) {
      const response = await call(name, { method, target }, agent);
      expect([method, response.status >= 400]).toEqual([method, true]);
    }
    const status = await call('map', { method: 'GET', target: '/v1/clusters/text' });
    expect(JSON.parse(status.body.toString())).toMatchObject({
      state: 'CLUSTER_STATE_INCLUDED',
      highWaterMark: '1',
    });
  });

  test('an agent reaches its own cluster where the front cuts the path at a question mark', async () => {
    const target = `${path}%3F/../../text`;
    const own = await call('map', { method: 'GET', target }, agent);
    expect(JSON.parse(own.body.toString())).toMatchObject({ cluster: { clusterId } });
  });

  test('nobody gets anything without a token, or with a wrong one', async () => {
    for (const authorization of ['', 'Bearer', `Bearer ${agent}x`, 'Bearer a.b.c']) {
      for (const name of ['push', 'map', 'access'] as const) {
        const target = name === 'access' ? '/v1/tokens' : path;
        const method = name === 'push' ? 'DELETE' : 'GET';
        const response = await call(name, { method, target, headers: { authorization } });
        expect(response.status).toBe(401);
        expect(response.headers['www-authenticate']).toMatch(/^Bearer realm="resource-map"/);
      }
    }
  });

  test('everybody may know that the service is up', async () => {
    const response = await call('about', {
      method: 'GET',
      target: '/healthz',
      headers: { authorization: '' },
    });
    expect(JSON.parse(response.body.toString())).toEqual({ status: 'ok' });
  });

  test('everybody may know how the API is described', async () => {
    const open = { method: 'GET', target: '/openapi.json' };
    const response = await call('about', { ...open, headers: { authorization: '' } });
    const document = await readFile(join(ROOT, 'functions/lambdas/about/openapi.json'), 'utf8');
    expect(JSON.parse(response.body.toString())).toEqual(JSON.parse(document));
    const again = await call('about', {
      ...open,
      headers: { authorization: '', 'if-none-match': response.headers.etag ?? '' },
    });
    expect(again.status).toBe(304);
  });
});
