/** Pushing and reading one cluster over HTTP, in both formats, under every kind of id. */
import { connect } from 'node:net';
import { gunzipSync, gzipSync } from 'node:zlib';
import { fromBinary, fromJson, type JsonValue, toBinary, toJson, toJsonString } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
} from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import {
  ClusterListSchema,
  ClusterStatusSchema,
  PushOutcome,
  PushResultSchema,
} from '../../functions/gen/resourcemap/v1/service_pb.ts';
import { type LocalService, startService } from '../../functions/local/service.ts';
import { sendRaw } from '../builders/raw-http.ts';
import { nodeType, pool, type SnapshotInit, snapshotOf } from '../core/snapshot/builders.ts';

const LAST_COUNTER = 18_446_744_073_709_551_614n;
const PROTOBUF = 'application/x-protobuf';

let service: LocalService;
beforeAll(async () => {
  service = await startService({ engine: { kind: 'memory' }, port: 0, host: '127.0.0.1' });
});
afterAll(() => service.close());

const snapshot = (clusterId: string, init: SnapshotInit = {}): ClusterResourceMap =>
  snapshotOf({
    cluster: { clusterId, provider: 'aws' },
    collectedAt: timestampFromMs(1_767_225_600_123),
    capacityPools: [pool({ nodeTypes: [nodeType({ acceleratorModel: 'H100' })] })],
    ...init,
  });

const pathOf = (clusterId: string): string => `${service.url}/v1/clusters/${encodeURIComponent(clusterId)}`;

async function push(
  pushed: ClusterResourceMap,
  path = pathOf(pushed.cluster?.clusterId ?? ''),
): Promise<JsonValue> {
  const body = toBinary(ClusterResourceMapSchema, pushed);
  const jumps = pushed.logicalCounter === LAST_COUNTER ? '?allow_jump=true' : '';
  const response = await fetch(`${path}/snapshot${jumps}`, {
    method: 'PUT',
    headers: { 'content-type': PROTOBUF },
    body,
  });
  return response.json() as Promise<JsonValue>;
}

describe('a push', () => {
  it.each([
    [
      'Protobuf',
      { 'content-type': PROTOBUF },
      (s: ClusterResourceMap) => toBinary(ClusterResourceMapSchema, s),
    ],
    [
      'gzipped Protobuf',
      { 'content-type': 'application/protobuf', 'content-encoding': 'gzip' },
      (s: ClusterResourceMap) => gzipSync(toBinary(ClusterResourceMapSchema, s)),
    ],
    [
      'JSON',
      { 'content-type': 'application/json' },
      (s: ClusterResourceMap) => Buffer.from(toJsonString(ClusterResourceMapSchema, s)),
    ],
    [
      'gzipped JSON with the names of the proto file',
      { 'content-type': 'application/json; charset=utf-8', 'content-encoding': 'GZIP' },
      (s: ClusterResourceMap) =>
        gzipSync(toJsonString(ClusterResourceMapSchema, s, { useProtoFieldName: true })),
    ],
  ])('in %s is published, and is that very snapshot in both formats', async (format, headers, encode) => {
    const pushed = snapshot(`in ${format}`, { logicalCounter: LAST_COUNTER });
    const path = `${pathOf(`in ${format}`)}/snapshot`;
    const response = await fetch(`${path}?allow_jump=true`, { method: 'PUT', headers, body: encode(pushed) });
    expect(await response.json()).toEqual({
      outcome: 'PUSH_OUTCOME_PUBLISHED',
      clusterId: `in ${format}`,
      logicalCounter: '18446744073709551614',
      highWaterMark: '18446744073709551614',
      warnings: [],
      omittedWarnings: 0,
    });
    const json = await (await fetch(path)).json();
    expect(json).toEqual(toJson(ClusterResourceMapSchema, pushed));
    const binary = await fetch(path, { headers: { accept: PROTOBUF } });
    expect(binary.headers.get('content-type')).toBe(PROTOBUF);
    const read = fromBinary(ClusterResourceMapSchema, new Uint8Array(await binary.arrayBuffer()));
    expect(toJson(ClusterResourceMapSchema, read)).toEqual(json);
  });

  it('is answered in the format that the client takes', async () => {
    const response = await fetch(`${pathOf('binary')}/snapshot`, {
      method: 'PUT',
      headers: { 'content-type': PROTOBUF, accept: 'application/protobuf' },
      body: toBinary(ClusterResourceMapSchema, snapshot('binary')),
    });
    expect(response.headers.get('content-type')).toBe('application/protobuf');
    const result = fromBinary(PushResultSchema, new Uint8Array(await response.arrayBuffer()));
    expect([result.outcome, result.highWaterMark]).toEqual([PushOutcome.PUBLISHED, 1n]);
  });

  it('that changes nothing refreshes, and comes with its warnings', async () => {
    await push(snapshot('refreshed', { logicalCounter: 1n }));
    const older = { logicalCounter: 2n, collectedAt: timestampFromMs(1_767_225_600_000) };
    expect(await push(snapshot('refreshed', older))).toMatchObject({
      outcome: 'PUSH_OUTCOME_REFRESHED',
      highWaterMark: '2',
      warnings: [{ code: 'collected_at_regressed', severity: 'warn', path: 'collected_at' }],
    });
    expect(await push(snapshot('refreshed', older))).toMatchObject({
      outcome: 'PUSH_OUTCOME_ALREADY_PUBLISHED',
    });
  });

  it('that jumps too far says so, and is taken where it is meant', async () => {
    await push(snapshot('jumps', { logicalCounter: 1n }));
    const far = snapshot('jumps', { logicalCounter: 2n ** 60n });
    expect(await push(far)).toMatchObject({ status: 422, findings: [{ code: 'counter_jump' }] });
    const response = await fetch(`${pathOf('jumps')}/snapshot?allow_jump=true`, {
      method: 'PUT',
      headers: { 'content-type': PROTOBUF },
      body: toBinary(ClusterResourceMapSchema, far),
    });
    expect(await response.json()).toMatchObject({ highWaterMark: String(2n ** 60n) });
  });
});

describe('a cluster', () => {
  it('has a status, with 64-bit integers as strings and every field written', async () => {
    await push(snapshot('status', { logicalCounter: LAST_COUNTER }));
    const json = (await (await fetch(pathOf('status'))).json()) as Record<string, unknown>;
    expect(json).toMatchObject({
      cluster: { clusterId: 'status', displayName: '', provider: 'aws', region: '', site: '' },
      state: 'CLUSTER_STATE_INCLUDED',
      omittedReason: '',
      highWaterMark: '18446744073709551614',
      collectedAt: '2026-01-01T00:00:00.123Z',
      contentSinceCounter: '18446744073709551614',
      accelerators: [{ model: 'H100', total: '16', free: '16', unavailable: '0' }],
      omittedAcceleratorModels: 0,
      warningCount: 0,
    });
    expect(fromJson(ClusterStatusSchema, json as JsonValue).highWaterMark).toBe(LAST_COUNTER);
  });

  it('that is deleted is out of the map but not of the list, until a push at its mark or above', async () => {
    await push(snapshot('gone', { logicalCounter: 5n }));
    const deleted = await fetch(`${pathOf('gone')}?reason=maintenance%20window`, { method: 'DELETE' });
    expect(await deleted.json()).toMatchObject({
      state: 'CLUSTER_STATE_OMITTED',
      omittedReason: 'maintenance window',
      highWaterMark: '5',
    });
    const clock = async () =>
      ((await (await fetch(`${service.url}/v1/map/clock`)).json()) as { vectorClock: object }).vectorClock;
    expect(await clock()).not.toHaveProperty('gone');
    const response = await fetch(`${pathOf('gone')}/snapshot`);
    expect([response.status, await response.json()]).toMatchObject([
      404,
      {
        code: 'cluster_omitted',
        detail: expect.stringContaining('Cluster "gone" is out of the map (maintenance window)'),
      },
    ]);
    const list = fromJson(
      ClusterListSchema,
      (await (await fetch(`${service.url}/v1/clusters`)).json()) as JsonValue,
    );
    expect(list.clusters.map((c) => c.cluster?.clusterId)).toContain('gone');

    expect(await push(snapshot('gone', { logicalCounter: 4n }))).toMatchObject({ code: 'counter_regressed' });
    expect(await push(snapshot('gone', { logicalCounter: 5n }))).toMatchObject({
      outcome: 'PUSH_OUTCOME_REFRESHED',
    });
    expect(await clock()).toHaveProperty('gone', '5');
  });

  it('answers HEAD as it would GET, without a body', async () => {
    await push(snapshot('head'));
    for (const path of [pathOf('head'), `${pathOf('head')}/snapshot`]) {
      const response = await fetch(path, { method: 'HEAD' });
      expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
        200,
        'application/json',
        '',
      ]);
    }
  });

  it('has a snapshot that is sent gzipped to whoever takes that', async () => {
    const pushed = snapshot('zipped');
    await push(pushed);
    const { port } = new URL(service.url);
    const zipped = await rawBody(
      `GET /v1/clusters/zipped/snapshot HTTP/1.1\r\nhost: localhost:${port}\r\naccept-encoding: gzip\r\nconnection: close\r\n\r\n`,
    );
    expect(JSON.parse(gunzipSync(zipped).toString())).toEqual(toJson(ClusterResourceMapSchema, pushed));
  });
});

describe('a cluster id', () => {
  it.each([
    'arn:aws:eks:eu-central-1:111122223333:cluster/gpu',
    'a b',
    '50%',
    '%2F',
    '..%2F..',
    'a/../b',
    'a!b#c&d=e+f',
    'ä/漢字/😀',
    'snapshot',
    'constructor',
    'toString',
    '<script>',
    'x'.repeat(253),
    'ä'.repeat(126),
  ])('such as %j is the same in URL, table, map and clock', async (clusterId) => {
    const pushed = snapshot(clusterId, { logicalCounter: LAST_COUNTER });
    expect(await push(pushed)).toMatchObject({ outcome: 'PUSH_OUTCOME_PUBLISHED', clusterId });
    expect(await (await fetch(`${pathOf(clusterId)}/snapshot`)).json()).toEqual(
      toJson(ClusterResourceMapSchema, pushed),
    );
    expect(await (await fetch(pathOf(clusterId))).json()).toMatchObject({ cluster: { clusterId } });
    const map = await fetch(`${service.url}/v1/map?cluster=${encodeURIComponent(clusterId)}`);
    expect(await map.json()).toEqual({
      clusterResourceMaps: [toJson(ClusterResourceMapSchema, pushed)],
      vectorClock: { [clusterId]: '18446744073709551614' },
    });
    const deleted = await fetch(pathOf(clusterId), { method: 'DELETE' });
    expect(await deleted.json()).toMatchObject({ cluster: { clusterId }, state: 'CLUSTER_STATE_OMITTED' });
  });

  it.each([
    [
      'prod?canary',
      'is "prod?canary", with a "?", at which gateways cut the path of a URL; choose another id',
    ],
    [
      'a/snapshot',
      'is "a/snapshot", which ends in "/snapshot" like the path of a snapshot; choose another id',
    ],
    ['a/claims/b', 'is "a/claims/b", which holds "/claims/" like the path of a claim; choose another id'],
  ])('such as %j is refused, since a gateway would lead it to another path', async (clusterId, fault) => {
    expect(await push(snapshot(clusterId, { logicalCounter: 1n }))).toMatchObject({
      code: 'invalid_snapshot',
      findings: [{ code: 'invalid_id', path: 'cluster.cluster_id', message: `cluster.cluster_id ${fault}` }],
    });
    // What a table has under it from before can still be named, to be taken out.
    const response = await fetch(pathOf(clusterId), { method: 'DELETE' });
    expect(await response.json()).toMatchObject({ code: 'cluster_not_found' });
  });

  it('may have its slashes and colons as they are', async () => {
    const clusterId = 'arn:aws:eks:eu-west-1:111122223333:cluster/plain';
    const path = `${service.url}/v1/clusters/${clusterId}`;
    expect(await push(snapshot(clusterId), path)).toMatchObject({ clusterId });
    expect(await (await fetch(path)).json()).toMatchObject({ cluster: { clusterId } });
  });

  it('may stand in an absolute request target, as a proxy is sent', async () => {
    await push(snapshot('a/b'));
    const response = await sendRaw(
      service.url,
      `GET ${service.url}/v1/clusters/a%2Fb HTTP/1.1\r\nhost: localhost\r\n\r\n`,
    );
    expect([response.status, JSON.parse(response.body).cluster.clusterId]).toEqual([200, 'a/b']);
  });
});

/** The bytes of a body as they were sent, which fetch would inflate. */
async function rawBody(request: string): Promise<Buffer> {
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
  socket.write(request);
  const response = Buffer.concat(await socket.toArray());
  return response.subarray(response.indexOf('\r\n\r\n') + 4);
}
