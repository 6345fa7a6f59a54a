/**
 * The whole service over HTTP: whatever is pushed is answered with no 5xx, what is refused
 * changes nothing of the map, and the next good push works.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { create, fromBinary, fromJsonString, toBinary } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
  GlobalResourceMapSchema,
} from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { type LocalService, startService } from '../../../functions/local/service.ts';
import { integer } from '../../builders/wire.ts';
import type { Case, Target } from '../case.ts';

/** Its map is in memory, and each accepted case adds to it. */
const CASES_A_SERVICE = 1_500;

/** Between two looks at the whole map, which costs more than a push. */
const CASES_A_LOOK = 25;

const SENTINEL = 'sentinel';

/** What is logged of a 5xx, for the finding. */
let lastFailure = '';

export function serviceTarget(): Target & { close(): Promise<void> } {
  let service: LocalService | undefined;
  let cases = 0;
  let counter = 1n;
  /** The clock after the last push that was accepted. */
  let standing = '';

  const call = async (path: string, init: RequestInit = {}): Promise<Response> => {
    assert.ok(service !== undefined);
    const response = await fetch(service.url + path, init);
    assert.ok(
      response.status < 500,
      `${init.method ?? 'GET'} ${path} is answered with ${response.status}: ${response.status < 500 ? '' : await response.text()} ${lastFailure}`,
    );
    return response;
  };

  const pushSentinel = async (): Promise<void> => {
    counter++;
    const snapshot = create(ClusterResourceMapSchema, {
      cluster: { clusterId: SENTINEL },
      collectedAt: create(TimestampSchema, { seconds: BigInt(Math.floor(Date.now() / 1_000)) }),
      logicalCounter: counter,
    });
    const response = await call(`/v1/clusters/${SENTINEL}/snapshot`, {
      method: 'PUT',
      headers: { 'content-type': 'application/x-protobuf' },
      body: toBinary(ClusterResourceMapSchema, snapshot) as Uint8Array<ArrayBuffer>,
    });
    const text = await response.text();
    assert.equal(response.status, 200, `A good push is refused: ${text}`);
  };

  const clock = async (): Promise<string> => (await call('/v1/map/clock')).text();

  const look = async (): Promise<void> => {
    const accept = { accept: 'application/x-protobuf', 'accept-encoding': 'gzip' };
    const binary = fromBinary(
      GlobalResourceMapSchema,
      new Uint8Array(await (await call('/v1/map', { headers: accept })).arrayBuffer()),
    );
    const text = fromJsonString(GlobalResourceMapSchema, await (await call('/v1/map')).text());
    const ids = (maps: readonly ClusterResourceMap[]): (string | undefined)[] =>
      maps.map((map) => map.cluster?.clusterId);
    assert.deepEqual(ids(text.clusterResourceMaps), ids(binary.clusterResourceMaps));
    assert.deepEqual(text.vectorClock, binary.vectorClock);
    assert.equal(binary.vectorClock[SENTINEL], counter);
  };

  const renew = async (): Promise<void> => {
    await service?.close();
    service = await startService({
      engine: { kind: 'memory' },
      port: 0,
      host: '127.0.0.1',
      // Each shard is a query more in every look at the clock.
      tables: { heads: 'Heads', contents: 'Bodies', shards: 1 },
      telemetry: {
        warn: () => undefined,
        error: (message, { cause }) => {
          lastFailure = `${message}: ${cause instanceof Error ? cause.stack : String(cause)}`;
        },
        count: () => undefined,
        gauge: () => undefined,
      },
    });
    await pushSentinel();
    standing = await clock();
  };

  const target = async (input: Case): Promise<void> => {
    if (cases++ % CASES_A_SERVICE === 0) await renew();
    counter++;
    const bytes = withCounter(input, counter);
    const response = await call(
      `/v1/clusters/${encodeURIComponent(clusterIdIn(bytes, input.format))}/snapshot`,
      {
        method: 'PUT',
        headers: headersOf(input, bytes),
        body: bodyOf(input, bytes) as Uint8Array<ArrayBuffer>,
      },
    );
    const text = await response.text();
    const now = await clock();
    if (response.status === 200) {
      assert.notEqual(now, standing, `A push that was accepted (${text}) is not in the clock.`);
      standing = now;
    } else {
      assert.equal(response.headers.get('content-type'), 'application/problem+json');
      assert.equal(now, standing, `A push that was refused (${text.slice(0, 300)}) changed the map.`);
    }
    if (cases % CASES_A_LOOK !== 0) return;
    await pushSentinel();
    standing = await clock();
    await look();
  };
  return Object.assign(target, {
    close: async () => {
      await service?.close();
      service = undefined;
    },
  });
}

/** The case with a counter above all before, or none of its pushes after the first would get past it. */
function withCounter({ format, bytes }: Case, counter: bigint): Uint8Array {
  if (format === 'protobuf') return Buffer.concat([bytes, integer(8, Number(counter))]);
  const text = Buffer.from(bytes);
  // The last of two members of one name is the one that counts.
  if (text.at(-1) !== 0x7d || text.length < 3) return bytes;
  return Buffer.concat([text.subarray(0, -1), Buffer.from(`,"logicalCounter":"${counter}"}`)]);
}

/** The id that the body has, so that it is not refused for being another's. */
function clusterIdIn(bytes: Uint8Array, format: Case['format']): string {
  const fallback = 'fuzzed';
  try {
    const id =
      format === 'protobuf'
        ? fromBinary(ClusterResourceMapSchema, bytes).cluster?.clusterId
        : (JSON.parse(Buffer.from(bytes).toString('utf8')) as { cluster?: { clusterId?: unknown } }).cluster
            ?.clusterId;
    // A lone surrogate cannot stand in a URL.
    return typeof id === 'string' && id !== '' && id !== SENTINEL && id.isWellFormed() ? id : fallback;
  } catch {
    return fallback;
  }
}

/** Chosen by the case itself, so that it does the same when it is run again. */
function kindOf({ bytes }: Case): number {
  return createHash('sha256').update(bytes).digest()[0] ?? 0;
}

function headersOf(input: Case, bytes: Uint8Array): Record<string, string> {
  const kind = kindOf(input);
  const type =
    input.format === 'json'
      ? 'application/json'
      : kind % 2 === 0
        ? 'application/x-protobuf'
        : 'application/protobuf';
  return {
    'content-type': type,
    ...(kind < 64 || kind >= 248 || bytes.length === 0 ? { 'content-encoding': 'gzip' } : {}),
    accept: 'application/json',
  };
}

/** Most are sent as they are, some as gzip, a few as gzip that is none or broken. */
function bodyOf(input: Case, bytes: Uint8Array): Uint8Array {
  const kind = kindOf(input);
  if (kind >= 248) return bytes;
  if (kind >= 64 && bytes.length > 0) return bytes;
  const zipped = gzipSync(bytes);
  if (kind < 8 && zipped.length > 20) zipped[10 + (kind % (zipped.length - 10))] = kind;
  return zipped;
}
