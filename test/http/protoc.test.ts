/** The map as Google's own implementation of Protobuf reads it. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromBinary, fromJsonString, toBinary, toJson } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ClusterResourceMapSchema,
  type GlobalResourceMap,
  GlobalResourceMapSchema,
} from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { pushSamples } from '../../functions/local/samples.ts';
import { type LocalService, startService } from '../../functions/local/service.ts';
import { snapshotOf } from '../core/snapshot/builders.ts';

const PROTO_FOLDER = new URL('../../proto/', import.meta.url).pathname;
const HAS_PROTOC = spawnSync('protoc', ['--version']).status === 0;
if (!HAS_PROTOC) console.log('protoc: skipped (it is not on the PATH); .ci/run installs it and runs it.');

/** Debian's compiler comes without Google's own files unless a development package is installed as well. */
const WELL_KNOWN = mkdtempSync(join(tmpdir(), 'well-known-'));
mkdirSync(join(WELL_KNOWN, 'google/protobuf'), { recursive: true });
for (const name of ['Timestamp', 'Duration']) {
  writeFileSync(
    join(WELL_KNOWN, `google/protobuf/${name.toLowerCase()}.proto`),
    `syntax = "proto3"; package google.protobuf; message ${name} { int64 seconds = 1; int32 nanos = 2; }`,
  );
}
afterAll(() => rmSync(WELL_KNOWN, { recursive: true }));

/** Turns an encoded map into text (`decode`), or such text into an encoded map. */
function protoc(direction: 'decode' | 'encode', input: Uint8Array): Buffer {
  const { status, stdout, stderr } = spawnSync(
    'protoc',
    [
      `--${direction}=${GlobalResourceMapSchema.typeName}`,
      `-I${PROTO_FOLDER}`,
      `-I${WELL_KNOWN}`,
      'resourcemap/v1/resource_map.proto',
    ],
    { input, maxBuffer: 256 * 1_024 * 1_024 },
  );
  expect(stderr.toString()).toBe('');
  expect(status).toBe(0);
  return stdout;
}

const HOSTILE_ID = 'arn:aws:eks:eu-central-1:111122223333:cluster/50% "ä漢😀"';

describe('the Protobuf map', () => {
  let service: LocalService;
  beforeAll(async () => {
    service = await startService({ engine: { kind: 'memory' }, port: 0, host: '127.0.0.1' });
    await pushSamples(service.url, () => undefined);
    const snapshot = snapshotOf({
      cluster: { clusterId: HOSTILE_ID, displayName: 'quotes " and \\ and \u0000' },
      logicalCounter: 18_446_744_073_709_551_614n,
      collectedAt: timestampFromMs(-1),
    });
    const path = `/v1/clusters/${encodeURIComponent(HOSTILE_ID)}/snapshot?allow_jump=true`;
    const response = await fetch(`${service.url}${path}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/x-protobuf' },
      body: toBinary(ClusterResourceMapSchema, snapshot),
    });
    expect(response.status).toBe(200);
  });
  afterAll(() => service.close());

  async function jsonMap(): Promise<GlobalResourceMap> {
    const response = await fetch(`${service.url}/v1/map`, { headers: { accept: 'application/json' } });
    return fromJsonString(GlobalResourceMapSchema, await response.text());
  }

  it.runIf(HAS_PROTOC)('decoded by protoc, every field of it known, is the JSON map', async () => {
    const response = await fetch(`${service.url}/v1/map`, { headers: { accept: 'application/x-protobuf' } });
    const text = protoc('decode', new Uint8Array(await response.arrayBuffer()));
    // protoc writes a field that it does not know by its number.
    expect(text.toString().match(/^\s*\d+[ :].*/m)).toBeNull();
    expect(text.toString().match(/^cluster_resource_maps \{/gm)?.length).toBe(6);
    const read = fromBinary(GlobalResourceMapSchema, protoc('encode', text));
    expect(toJson(GlobalResourceMapSchema, read)).toEqual(toJson(GlobalResourceMapSchema, await jsonMap()));
    expect(read.vectorClock[HOSTILE_ID]).toBe(18_446_744_073_709_551_614n);
  });
});
