/**
 * What is deployed is what was tested: the functions of the synthesised template do the whole
 * story, and what they were seen to call is compared with what the template lets them call.
 *
 *     npm run test:deploy
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { create, fromJsonString } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newToken, tokenDigest } from '../../../functions/auth/static-token.ts';
import {
  ClaimState,
  type Client,
  createClaimClient,
  createClient,
  MapReplica,
} from '../../../functions/client/index.ts';
import { encodeContent } from '../../../functions/core/snapshot/canonical.ts';
import { PoolSchema } from '../../../functions/gen/resourcemap/bundle/v1/pool_pb.ts';
import { ClusterResourceMapSchema } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { contentKey } from '../../../functions/storage/contents.ts';
import { HEAD_ATTRIBUTES, headFromItem, type Item } from '../../../functions/storage/head-item.ts';
import { headPartition, shardOf } from '../../../functions/storage/tables.ts';
import { FUNCTION_NAMES } from '../../../infra/functions.ts';
import { startDynamoDbLocal } from '../../engines/dynamodb-local.ts';
import { javaIsMissing } from '../../engines/java.ts';
import { snapshotOf } from '../snapshots.ts';
import { type Assembly, resourcesOf, synthesiseApp } from './assembly.ts';
import { type Deployment, deploy, logicalIdOf, named, physicalNames } from './deployment.ts';
import { findNode24 } from './node24.ts';
import { findRuntimeClient } from './runtime-client.ts';

const node = await findNode24();
const runtimeClient = await findRuntimeClient();
const missing =
  javaIsMissing() ??
  (node === undefined
    ? 'npm has no Node 24'
    : runtimeClient === undefined
      ? 'npm has no aws-lambda-ric'
      : undefined);
if (missing !== undefined) console.log(`The deployed functions: skipped (${missing}).`);

/** The ARN of an EKS cluster is its id, and API Gateway decodes it. */
const EKS = 'arn:aws:eks:eu-central-1:111122223333:cluster/gpu';
const SHARDS = 3;
/** Says what an H100 node is worth. */
const INSTANCE_TYPES = fileURLToPath(new URL('../instance-types.json', import.meta.url));

describe.skipIf(missing !== undefined)('the deployed functions', () => {
  let assembly: Assembly;
  let deployment: Deployment;
  const admin = newToken();
  const tokens = new Map<string, string>();
  /** A scheduler's, unless it says otherwise. */
  let client: Client;
  let replica: MapReplica;
  const closing: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    if (node === undefined || runtimeClient === undefined) return;
    const folder = await mkdtemp(join(tmpdir(), 'deployed-'));
    closing.push(() => rm(folder, { recursive: true }));
    assembly = await synthesiseApp(folder, {
      stage: 'story',
      shards: String(SHARDS),
      omitAfter: '30s',
      adminTokenSha256: tokenDigest(admin),
      retireAfter: '1h',
      instanceTypes: INSTANCE_TYPES,
    });
    const dynamo = await startDynamoDbLocal();
    closing.push(dynamo.close);
    deployment = await deploy({ assembly, node, runtimeClient, dynamoEndpoint: dynamo.endpoint });
    closing.push(deployment.close);
    for (const clusterId of [EKS, 'openb', 'kops', 'never']) {
      tokens.set(clusterId, (await issue('ROLE_AGENT', clusterId)).secret);
    }
    tokens.set('scheduler', (await issue('ROLE_SCHEDULER')).secret);
    client = clientWith(tokens.get('scheduler') ?? '');
    replica = new MapReplica(client, { waitMs: 0 });
  }, 300_000);

  afterAll(async () => {
    for (const each of closing.reverse()) await each();
  });

  function clientWith(token: string): Client {
    return createClient({ baseUrl: deployment.url, token, retry: { attempts: 1, baseMs: 1, capMs: 1 } });
  }

  /** The client of a cluster's agent. */
  function agent(clusterId: string): Client {
    return clientWith(tokens.get(clusterId) ?? '');
  }

  /** Asks for `path` as the admin. */
  async function ask(method: string, path: string, body?: unknown): Promise<Response> {
    return fetch(`${deployment.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  async function issue(role: string, clusterId = ''): Promise<{ token: { id: string }; secret: string }> {
    const response = await ask('POST', '/v1/tokens', { role, clusterId });
    if (!response.ok) throw new Error(`No token was issued: ${await response.text()}`);
    return (await response.json()) as { token: { id: string }; secret: string };
  }

  /** Has time pass for one cluster: what the sweeper measures lies that much further back. */
  async function age(clusterId: string, attribute: 'receivedAt' | 'omittedAt', ms: number): Promise<void> {
    await deployment.dynamo.send(
      new UpdateItemCommand({
        TableName: deployment.tables.heads,
        Key: { shard: { S: headPartition(shardOf(clusterId, SHARDS)) }, clusterId: { S: clusterId } },
        UpdateExpression: 'ADD #at :ms',
        ExpressionAttributeNames: { '#at': HEAD_ATTRIBUTES[attribute] },
        ExpressionAttributeValues: { ':ms': { N: String(-ms) } },
      }),
    );
  }

  async function headItem(clusterId: string): Promise<Item> {
    const { Item = {} } = await deployment.dynamo.send(
      new GetItemCommand({
        TableName: deployment.tables.heads,
        Key: { shard: { S: headPartition(shardOf(clusterId, SHARDS)) }, clusterId: { S: clusterId } },
        ConsistentRead: true,
      }),
    );
    return Item;
  }

  /** Waits for an event of a cluster beyond the first `after`. */
  async function reported(
    detailType: string,
    clusterId: string,
    after = 0,
  ): Promise<Readonly<Record<string, unknown>>> {
    const deadline = Date.now() + 20_000;
    while (Date.now() < deadline) {
      const found = deployment.events
        .slice(after)
        .find((event) => event['detail-type'] === detailType && event.detail.clusterId === clusterId);
      if (found !== undefined) return found.detail;
      await sleep(50);
    }
    throw new Error(
      `${detailType} of ${clusterId} was not told; the bus has ${JSON.stringify(deployment.events)}`,
    );
  }

  test('take a push of each cluster, compressed, and tell of it', async () => {
    const eks = await snapshotOf('aicr-eks-h100-t3', { clusterId: EKS, counter: 10n });
    expect(await agent(EKS).push(eks)).toMatchObject({ clusterId: EKS, highWaterMark: 10n });
    for (const [sample, clusterId] of [
      ['openb-instant-t2', 'openb'],
      ['kops-l4-t3', 'kops'],
    ] as const) {
      await agent(clusterId).push(await snapshotOf(sample, { clusterId, counter: 1n }));
    }
    expect(await reported('Cluster Published', EKS)).toMatchObject({
      logicalCounter: '10',
      state: 'CLUSTER_STATE_INCLUDED',
    });
    await reported('Cluster Published', 'openb');
    await reported('Cluster Published', 'kops');
  });

  test('validate without storing', async () => {
    const snapshot = await snapshotOf('kops-l4-t3', { clusterId: 'never', counter: 1n });
    snapshot.capacityPools.push(...snapshot.capacityPools);
    const { findings } = await agent('never').validate(snapshot);
    expect(findings.map(({ code }) => code)).toContain('duplicate_pool_id');
    await expect(client.cluster('never')).rejects.toThrow('cluster_not_found');
  });

  test('serve the whole map, and every cluster as it was pushed', async () => {
    const response = await client.map();
    if (response.kind !== 'map') throw new Error('There was a map to give.');
    expect(response.map.vectorClock).toEqual({ [EKS]: 10n, kops: 1n, openb: 1n });
    const eks = await snapshotOf('aicr-eks-h100-t3', { clusterId: EKS, counter: 10n });
    expect(encodeContent(await client.snapshot(EKS))).toEqual(encodeContent(eks));
    expect(await client.map({ ifNoneMatch: response.etag })).toEqual({
      kind: 'not-modified',
      etag: response.etag,
    });
    expect(await client.clock()).toEqual(
      new Map([
        [EKS, 10n],
        ['kops', 1n],
        ['openb', 1n],
      ]),
    );
  });

  test('keep a replica true: what is new whole, what is refreshed by its counter', async () => {
    await replica.pull();
    await agent('openb').push(await snapshotOf('openb-instant-t2', { clusterId: 'openb', counter: 2n }));
    await agent('kops').push(await snapshotOf('upcloud-l40s-t0', { clusterId: 'kops', counter: 5n }));
    const kinds = (await replica.pull()).map((event) =>
      'clusterId' in event ? [event.kind, event.clusterId] : [event.kind],
    );
    expect(kinds).toEqual([['refreshed', 'openb'], ['changed', 'kops'], ['complete']]);
    expect(replica.clock).toEqual(await client.clock());
  });

  test('tell of a push that changed something, and not of one that did not', async () => {
    const detail = await reported('Cluster Published', 'kops', 3);
    expect(detail).toMatchObject({ logicalCounter: '5', previousCounter: '1' });
    expect(deployment.events.filter(({ detail }) => detail.clusterId === 'openb')).toHaveLength(1);
    // The filter kept the refresh from notify: it was no invocation.
    expect(deployment.stream.reported).toBeLessThan(deployment.stream.records);
  });

  test('refuse what went back, with the mark, and show that in the status of the cluster', async () => {
    const late = await snapshotOf('openb-instant-t2', { clusterId: 'openb', counter: 1n });
    await expect(agent('openb').push(late)).rejects.toMatchObject({
      problem: { code: 'counter_regressed', highWaterMark: 2n },
    });
    expect(await client.cluster('openb')).toMatchObject({
      highWaterMark: 2n,
      lastRefusal: { code: 'counter_regressed', count: 1 },
    });
  });

  test('say what is left, and whether a job fits', async () => {
    const { targets } = await client.capacity();
    const eks = targets.find((target) => target.clusterId === EKS);
    expect(eks).toMatchObject({ nodes: 2, accelerators: 16n });
    const { shapes } = await client.fit({
      shapes: [
        { podRequirements: [{ acceleratorModel: 'NVIDIA-H100-80GB-HBM3', acceleratorCount: 8 }], chains: 1 },
      ],
    });
    // Which clusters have room is the samples' affair; that the question was answered is ours.
    expect(shapes.map(({ chains, maxChains }) => [chains, typeof maxChains])).toEqual([[1, 'bigint']]);
  });

  test('keep pools for operators, and say whether a bundle fits them and where it would land', async () => {
    const operator = clientWith(admin);
    const init = create(PoolSchema, {
      poolName: 'h100 50%',
      tiers: [{ source: { case: 'cluster', value: { clusterId: [EKS] } } }],
    });
    await expect(client.putPool(init)).rejects.toMatchObject({ status: 403 });
    const { etag } = await operator.putPool(init, { onlyCreate: true });
    await expect(operator.putPool(init, { onlyCreate: true })).rejects.toMatchObject({ status: 412 });
    expect(await client.pool('h100 50%')).toMatchObject({ etag });
    expect((await client.pools()).map((kept) => kept.pool?.poolName)).toEqual(['h100 50%']);

    const map = await client.map();
    const bundle = (requiredCapacity: number) => ({
      bundleId: 'b',
      pool: 'h100 50%',
      jobs: [{ jobName: 'a', requirements: { requiredCapacity, requiredGpuCapacity: 0.5 } }],
    });
    // What the node type is worth stands in the catalogue that was deployed, and nowhere else.
    expect(await client.validateBundle({ bundle: bundle(401) })).toMatchObject({
      etag: map.etag,
      errors: [],
      warnings: [
        {
          code: 'unsatisfiableCapacity',
          message: 'Job "a" needs capacity 401, and the best profile of pool "h100 50%" offers 400.',
        },
      ],
    });
    expect(await client.planBundles({ bundles: [bundle(1)] })).toMatchObject({
      etag: map.etag,
      bundles: [{ outcome: 'placed', copies: [{ placements: [{ node: { clusterId: EKS } }] }] }],
    });
    await operator.deletePool('h100 50%', { ifMatch: etag });
    await expect(client.pool('h100 50%')).rejects.toMatchObject({ code: 'pool_not_found' });
  });

  test('claim capacity, so that nobody else is given it, and release it', async () => {
    const claims = createClaimClient({ baseUrl: deployment.url, token: tokens.get('scheduler') ?? '' });
    const request = {
      jobId: 'training',
      ranks: [{ podRequirements: [{ acceleratorModel: 'NVIDIA-H100-80GB-HBM3', acceleratorCount: 8 }] }],
    };
    const claimed = async (): Promise<bigint> =>
      (await client.capacity()).targets
        .filter(({ clusterId }) => clusterId === EKS)
        .reduce((sum, target) => sum + target.claimed, 0n);
    const held = await claims.claim(EKS, request);
    expect(await claimed()).toBe(8n);
    await held.confirm({ ttlMs: 60_000 });
    const listed = await claims.list({ owners: ['self'] });
    expect(listed.kind === 'claims' && listed.claims.map(({ state }) => ClaimState[state])).toEqual([
      'CONFIRMED',
    ]);
    await held.release({ neverStarted: true });
    expect(await claimed()).toBe(0n);
    expect(await reported('Claim Accepted', EKS)).toMatchObject({
      jobId: 'training',
      owner: held.claim.owner,
    });
    expect(await reported('Claim Confirmed', EKS)).toMatchObject({ previousState: 'CLAIM_STATE_HELD' });
    expect(await reported('Claim Released', EKS)).toMatchObject({ id: held.claim.id });
  });

  test('write down that a claim expired, when the schedule calls, and tell it', async () => {
    const claims = createClaimClient({ baseUrl: deployment.url, token: tokens.get('scheduler') ?? '' });
    const { claim } = await claims.claim(EKS, {
      jobId: 'forgotten',
      ranks: [{ podRequirements: [{ acceleratorCount: 1 }] }],
      ttl: { seconds: 5n },
    });
    // The empty ledger of a cluster that was retired.
    const gone = { shard: { S: String(shardOf('gone', SHARDS)) }, clusterId: { S: 'gone' } };
    await deployment.dynamo.send(
      new PutItemCommand({ TableName: deployment.tables.claims, Item: { ...gone, version: { N: '1' } } }),
    );
    await sleep(5_100);
    expect(await deployment.runSchedule('sweep')).toMatchObject({
      live: 0,
      recorded: 1,
      removed: 1,
      failedShards: [],
    });
    expect(await reported('Claim Expired', EKS)).toMatchObject({
      id: claim.id,
      previousState: 'CLAIM_STATE_HELD',
      jobId: 'forgotten',
    });
  });

  test('keep a stored bundle placed by its schedule, and end it', async () => {
    const asked = async (method: string, path: string, body?: unknown) => {
      const response = await fetch(`${deployment.url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${tokens.get('scheduler')}`,
          'content-type': 'application/json',
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return {
        status: response.status,
        body: JSON.parse(text || '{}') as Readonly<Record<string, unknown>>,
      };
    };
    const bundle = { pool: 'nowhere', jobs: [{ jobName: 'train' }] };
    expect(await asked('PUT', '/v1/bundles/live', bundle)).toMatchObject({
      status: 201,
      body: { state: 'live' },
    });
    expect(await deployment.runSchedule('plan')).toMatchObject({});
    expect((await asked('GET', '/v1/bundles')).body.bundles).toMatchObject([{ state: 'live' }]);
    expect((await asked('DELETE', '/v1/bundles/live')).status).toBe(204);
    expect(await asked('GET', '/v1/bundles/live')).toMatchObject({
      status: 404,
      body: { code: 'bundle_not_found' },
    });
  });

  test('omit a cluster on demand, tell it, and take it back', async () => {
    await clientWith(admin).omit(EKS);
    expect(await reported('Cluster Omitted', EKS)).toMatchObject({ reason: 'deleted' });
    expect((await replica.pull()).map(({ kind }) => kind)).toEqual(['omitted', 'complete']);
    await agent(EKS).push(await snapshotOf('aicr-eks-h100-t3', { clusterId: EKS, counter: 11n }));
    expect(await reported('Cluster Returned', EKS)).toMatchObject({ logicalCounter: '11' });
  });

  test('sweep out a cluster that fell silent, when the schedule calls, and no other', async () => {
    await age('kops', 'receivedAt', 31_000);
    expect(await deployment.runSchedule('expire')).toMatchObject({
      newlyOmitted: ['kops'],
      included: 2,
      omitted: 1,
    });
    expect(await reported('Cluster Omitted', 'kops')).toMatchObject({
      reason: 'silent',
      logicalCounter: '5',
    });
    expect([...(await client.clock()).keys()].sort()).toEqual([EKS, 'openb']);
  });

  test('retire a cluster that stays away, and still hold its counters', async () => {
    await age('kops', 'omittedAt', 3_601_000);
    expect(await deployment.runSchedule('expire')).toMatchObject({ retired: ['kops'], omitted: 0 });
    await expect(client.cluster('kops')).rejects.toThrow('cluster_not_found');
    const late = await snapshotOf('kops-l4-t3', { clusterId: 'kops', counter: 4n });
    await expect(agent('kops').push(late)).rejects.toMatchObject({
      problem: { code: 'counter_regressed', highWaterMark: 5n },
    });
    await agent('kops').push(await snapshotOf('kops-l4-t3', { clusterId: 'kops', counter: 6n }));
    expect((await client.clock()).get('kops')).toBe(6n);
  });

  test('do for each caller what is its own, and for nobody more', async () => {
    const push = async (token: string): Promise<number> =>
      clientWith(token)
        .push(await snapshotOf('kops-l4-t3', { clusterId: 'openb', counter: 99n }))
        .then(
          () => 200,
          (error: { status: number }) => error.status,
        );
    expect([await push('rmt_nobody'), await push(tokens.get('kops') ?? ''), await push(admin)]).toEqual([
      401, 403, 403,
    ]);
    await expect(agent('kops').map()).rejects.toMatchObject({ status: 403 });
    const { token } = await issue('ROLE_SCHEDULER');
    expect((await ask('GET', '/v1/tokens')).status).toBe(200);
    expect((await ask('DELETE', `/v1/tokens/${token.id}`)).ok).toBe(true);
    const asScheduler = await fetch(`${deployment.url}/v1/tokens`, {
      headers: { authorization: `Bearer ${tokens.get('scheduler')}` },
    });
    expect(asScheduler.status).toBe(403);
    expect((await fetch(`${deployment.url}/healthz`)).status).toBe(200);
  });

  test('answer what no route takes with a problem of ours', async () => {
    const unknown = await fetch(`${deployment.url}/v2/map`);
    expect(unknown.status).toBe(404);
    expect(unknown.headers.get('content-type')).toBe('application/problem+json');
    const unreadable = await fetch(`${deployment.url}/v1/capacity/fit`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${tokens.get('scheduler')}` },
      body: '{"shapes":',
    });
    expect([unreadable.status, await unreadable.json()]).toMatchObject([400, { code: 'malformed_json' }]);
    const head = await fetch(`${deployment.url}/v1/map`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${tokens.get('scheduler')}` },
    });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  test('hold a response at the wait routes, and at no others', async () => {
    const authorization = `Bearer ${tokens.get('scheduler')}`;
    const read = (path: string, headers: Readonly<Record<string, string>> = {}) =>
      fetch(`${deployment.url}${path}`, { headers: { authorization, prefer: 'wait=1', ...headers } });
    const plain = await read('/v1/map');
    expect([plain.status, plain.headers.get('preference-applied')]).toEqual([200, null]);
    const held = await read('/v1/wait/map', { 'if-none-match': plain.headers.get('etag') ?? '' });
    expect([held.status, held.headers.get('preference-applied')]).toEqual([304, 'wait=1']);
    expect((await read('/v1/wait/map?no-such-parameter=1')).status).toBe(400);
  });

  test('tell of every model that came free, those too that a head has no room for', async () => {
    const text = readFileSync(
      new URL('../../data/reported-cases/many-models-free.json', import.meta.url),
      'utf8',
    );
    const snapshot = fromJsonString(ClusterResourceMapSchema, text);
    if (snapshot.cluster !== undefined) snapshot.cluster.clusterId = 'kops';
    snapshot.logicalCounter = 7n;
    snapshot.collectedAt = timestampFromMs(Date.now());
    const before = deployment.events.length;
    await agent('kops').push(snapshot);
    const { acceleratorsFreed, omittedAcceleratorModels } = await reported(
      'Cluster Published',
      'kops',
      before,
    );
    const { accelerators, omittedModels } = headFromItem(await headItem('kops'));
    expect(omittedModels).toBeGreaterThan(0);
    expect(acceleratorsFreed).toHaveLength(accelerators.length + omittedModels);
    expect(omittedAcceleratorModels).toBe(0);
  });

  test('report metrics under the namespace of the stage, and no error', () => {
    for (const name of FUNCTION_NAMES) {
      const { lambda } = named(deployment.functions, name);
      // There is nothing to count in saying what the service is.
      if (name !== 'about') expect(lambda.log).toContain('"Namespace":"ResourceMap/story"');
      expect(lambda.log).not.toMatch(/"level":"error"/i);
    }
  });

  test('leave out a cluster whose body is gone, loudly, and answer for the rest', async () => {
    await agent('kops').push(await snapshotOf('viettel-l40s-t1', { clusterId: 'kops', counter: 8n }));
    const { body } = headFromItem(await headItem('kops'));
    await deployment.dynamo.send(
      new DeleteItemCommand({
        TableName: deployment.tables.contents,
        Key: { bodyId: { B: contentKey(body) }, part: { N: '0' } },
      }),
    );
    const { targets } = await client.capacity();
    expect([...new Set(targets.map(({ clusterId }) => clusterId))].sort()).toEqual([EKS, 'openb']);
    const { log } = named(deployment.functions, 'plan').lambda;
    expect(log).toContain('"message":"cluster left out of the map"');
    expect(log).toContain('BodiesMissing');
    const waiting = await fetch(`${deployment.url}/v1/wait/map`, {
      headers: { authorization: `Bearer ${tokens.get('scheduler')}` },
    });
    const { vectorClock } = (await waiting.json()) as { vectorClock: object };
    expect(Object.keys(vectorClock).sort()).toEqual([EKS, 'openb']);
    expect(named(deployment.functions, 'wait').lambda.log).toContain('BodiesMissing');
  });

  describe('may do', () => {
    test.each(FUNCTION_NAMES)('what %s was seen to do, and nothing else', (name) => {
      expect(registrationsOf(assembly, name)).toEqual(calledBy(deployment, name));
    });
  });

  test('and the comparison sees a right that is missing, and one that is not needed', () => {
    const called = calledBy(deployment, 'push');
    expect(called.length).toBeGreaterThan(2);
    expect(registrationsOf(assembly, 'push')).not.toEqual(called.slice(1));
    expect(registrationsOf(assembly, 'push').slice(1)).not.toEqual(called);
  });
});

/** What a function called, as `action on table or bus`. */
function calledBy(deployment: Deployment, name: (typeof FUNCTION_NAMES)[number]): readonly string[] {
  const calls = named(deployment.functions, name).calls.flatMap(({ action, resources }) =>
    resources.map((resource) => `${action} on ${resource}`),
  );
  return [...new Set(calls)].sort();
}

/**
 * What the policies of its role let it do with tables and buses. What Lambda itself does in its
 * name (logs, traces, the stream, the dead letters) no code of ours calls.
 */
function registrationsOf(assembly: Assembly, name: (typeof FUNCTION_NAMES)[number]): readonly string[] {
  const [, lambda] =
    resourcesOf(assembly, 'AWS::Lambda::Function').find(([, { Properties }]) =>
      String(Properties.FunctionName).endsWith(`-${name}`),
    ) ?? [];
  const role = logicalIdOf(lambda?.Properties.Role);
  const { ref } = physicalNames(assembly);
  return resourcesOf(assembly, 'AWS::IAM::Policy')
    .filter(([, { Properties }]) =>
      (Properties.Roles as readonly unknown[]).some((each) => logicalIdOf(each) === role),
    )
    .flatMap(
      ([, { Properties }]) => (Properties.PolicyDocument as { Statement: readonly Statement[] }).Statement,
    )
    .flatMap(({ Action, Resource }) =>
      [Action].flat().flatMap((action) => [Resource].flat().map((resource) => ({ action, resource }))),
    )
    .filter(({ action }) => /^(dynamodb|events):/.test(action) && !BY_LAMBDA.has(action))
    .map(({ action, resource }) => `${action} on ${ref(logicalIdOf(resource))}`)
    .sort();
}

interface Statement {
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
}

const BY_LAMBDA = new Set([
  'dynamodb:DescribeStream',
  'dynamodb:GetRecords',
  'dynamodb:GetShardIterator',
  'dynamodb:ListStreams',
]);
