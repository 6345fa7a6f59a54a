import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { constants, deflateRawSync, gzipSync } from 'node:zlib';
import { toBinary } from '@bufbuild/protobuf';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ClusterResourceMapSchema } from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { type LocalService, startService } from '../../functions/local/service.ts';
import { sendRaw } from '../builders/raw-http.ts';
import { FIELD, groups, integer, nested, repeated, tag, text, varint } from '../builders/wire.ts';
import { CLUSTER_ID, snapshotOf } from '../core/snapshot/builders.ts';

const UNKNOWN = 1000;
const MIB = 1024 * 1024;

/** The members of a problem that tests look at. */
interface Problem {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly findings?: readonly unknown[];
  readonly omittedFindings?: number;
}

let service: LocalService;
let counter = 0n;

async function push(
  body: Uint8Array,
  headers: Record<string, string> = {},
): Promise<{ status: number; problem: Problem }> {
  const lines = Object.entries({
    host: 'localhost',
    'content-type': 'application/x-protobuf',
    'content-length': String(body.length),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  const response = await sendRaw(service.url, [
    `PUT /v1/clusters/${CLUSTER_ID}/snapshot HTTP/1.1\r\n${lines.join('')}\r\n`,
    body,
  ]);
  return { status: response.status, problem: JSON.parse(response.body) as Problem };
}

/** A valid snapshot with `more` after it. */
function snapshotBytes(...more: readonly Uint8Array[]): Buffer {
  counter++;
  return Buffer.concat([
    toBinary(ClusterResourceMapSchema, snapshotOf({ logicalCounter: counter })),
    ...more,
  ]);
}

/** Gzip that inflates to as many zeros, without taking the time to deflate them. */
function gzipOfZeros(bytes: number): Buffer {
  const block = 16 * MIB;
  const deflated = deflateRawSync(Buffer.alloc(block), { finishFlush: constants.Z_FULL_FLUSH, level: 9 });
  const header = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
  return Buffer.concat([header, repeated(deflated, Math.ceil(bytes / block))]);
}

/**
 * Runs it and gives how far the peak of the process's memory rose above what it held before, in
 * bytes. Linux lets a process forget its peak; elsewhere only what exceeds all before counts.
 */
async function peakGrowth(run: () => Promise<void>): Promise<number> {
  await settle();
  const forgets = forgetPeak();
  const before = forgets ? process.memoryUsage.rss() : process.resourceUsage().maxRSS * 1024;
  await run();
  return (forgets ? peakBytes() : process.resourceUsage().maxRSS * 1024) - before;
}

/**
 * Waits until the process gives no more memory back to the system, which it does for a while
 * after garbage is collected: what it gave back during a bomb would hide what the bomb takes.
 */
async function settle(): Promise<void> {
  for (let round = 0; round < 20; round++) {
    const before = process.memoryUsage.rss();
    collectGarbage();
    await sleep(50);
    if (before - process.memoryUsage.rss() < MIB) return;
  }
}

/** So that memory which the last bomb took, and nobody uses, does not hide what the next one takes. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

/** @returns whether there is such a thing */
function forgetPeak(): boolean {
  try {
    writeFileSync('/proc/self/clear_refs', '5');
    return true;
  } catch {
    return false;
  }
}

function peakBytes(): number {
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  if (kib === undefined) throw new Error('The system does not tell the peak of the memory.');
  return Number(kib) * 1024;
}

/** A test that takes no more memory than that, the making of the bomb included. */
function bomb(name: string, maxGrowth: number, run: () => Promise<void>): void {
  it(name, async () => {
    expect(await peakGrowth(run)).toBeLessThan(maxGrowth);
  });
}

const gzipped = { 'content-encoding': 'gzip' };

beforeAll(async () => {
  service = await startService({ engine: { kind: 'memory' }, port: 0, host: '127.0.0.1' });
  for (let i = 0; i < 5; i++) expect((await push(snapshotBytes())).status).toBe(200);
});
afterAll(async () => {
  await service.close();
});
afterEach(async () => {
  expect((await push(snapshotBytes())).status).toBe(200);
});

describe('A bomb is answered with what is wrong, costs little, and the next good push works', () => {
  it('4 KB of gzip that inflate to 4 MB of empty messages', async () => {
    const bomb = gzipSync(repeated(nested(FIELD.pools), 2 * MIB), { level: 9 });
    expect(bomb.length).toBeLessThan(4_200);
    const growth = await peakGrowth(async () => {
      const { status, problem } = await push(bomb, gzipped);
      expect([status, problem.code]).toEqual([413, 'too_many_elements']);
    });
    expect(growth).toBeLessThan(64 * MIB);
  });

  it('10 MB of gzip that inflate to 10 GB', async () => {
    const bomb = gzipOfZeros(10 * 1024 * MIB);
    expect(bomb.length).toBeLessThan(11 * MIB);
    const growth = await peakGrowth(async () => {
      const { status, problem } = await push(bomb, gzipped);
      expect([status, problem.code]).toEqual([413, 'body_too_large']);
      expect(problem.detail).toBe(
        'The body inflates to more than 67108864 bytes, which is the most that is taken.',
      );
    });
    expect(growth).toBeLessThan(200 * MIB);
  });

  bomb('10 KB of gzip that inflate to 10 MB', 100 * MIB, async () => {
    const bomb = gzipSync(Buffer.alloc(10 * MIB), { level: 9 });
    const { status, problem } = await push(bomb, gzipped);
    expect([status, problem.code]).toEqual([413, 'body_too_large']);
    expect(problem.detail).toBe(
      `The ${bomb.length} bytes of the body inflate to more than 8388608; beyond 8388608 bytes, at most 100 are taken for each one sent.`,
    );
  });

  bomb('800,000 gzip members with nothing in them', 100 * MIB, async () => {
    const { status, problem } = await push(repeated(gzipSync(Buffer.alloc(0)), 800_000), gzipped);
    expect([status, problem.code]).toEqual([400, 'empty_body']);
  });

  bomb('gzip within gzip', 64 * MIB, async () => {
    const twice = gzipSync(gzipSync(snapshotBytes()));
    const once = await push(twice, gzipped);
    expect([once.status, once.problem.code]).toEqual([400, 'malformed_protobuf']);
    const named = await push(twice, { 'content-encoding': 'gzip, gzip' });
    expect([named.status, named.problem.code]).toEqual([415, 'unsupported_encoding']);
  });

  it('a million findings', async () => {
    const growth = await peakGrowth(async () => {
      const { status, problem } = await push(
        gzipSync(snapshotBytes(repeated(nested(FIELD.pools), 999_000))),
        gzipped,
      );
      expect([status, problem.code]).toEqual([422, 'invalid_snapshot']);
      expect(problem.findings).toHaveLength(1_000);
      expect(problem.omittedFindings).toBeGreaterThan(900_000);
    });
    expect(growth).toBeLessThan(600 * MIB);
  });

  bomb('groups of an unknown field, four million deep', 64 * MIB, async () => {
    const { status, problem } = await push(gzipSync(snapshotBytes(groups(UNKNOWN, 2_000_000))), gzipped);
    expect([status, problem.code]).toEqual([400, 'nested_too_deeply']);
  });

  bomb('varints without end', 100 * MIB, async () => {
    const endless = repeated(Buffer.from([0x80]), MIB);
    for (const field of [tag(FIELD.logicalCounter, 0), tag(UNKNOWN, 0), tag(FIELD.pools, 2)]) {
      const { status, problem } = await push(snapshotBytes(field, endless));
      expect([status, problem.code]).toEqual([400, 'malformed_protobuf']);
    }
  });

  bomb('100,000 different map entries', 100 * MIB, async () => {
    const entries = Array.from({ length: 100_000 }, (_, i) =>
      nested(FIELD.engineParameters, text(1, `k${i}`), text(2, 'v')),
    );
    const job = nested(FIELD.jobs, nested(FIELD.ranks, nested(FIELD.runtime, ...entries)));
    const { status, problem } = await push(snapshotBytes(job));
    expect([status, problem.code]).toEqual([413, 'too_many_elements']);
  });

  it('JSON of 400,000 names that differ', async () => {
    const objects = Array.from(
      { length: 2_000 },
      (_, i) => `{${Array.from({ length: 200 }, (_, j) => `"k${i}_${j}":0`).join(',')}}`,
    );
    const growth = await peakGrowth(async () => {
      const { status, problem } = await push(
        gzipSync(Buffer.from(`{"capacityPools":[${objects.join(',')}]}`)),
        { ...gzipped, 'content-type': 'application/json' },
      );
      expect([status, problem.code]).toEqual([413, 'too_many_elements']);
    });
    expect(growth).toBeLessThan(100 * MIB);
  });

  bomb('JSON nested a million deep', 64 * MIB, async () => {
    const { status, problem } = await push(Buffer.from('{"jobs":['.repeat(1_000_000)), {
      'content-type': 'application/json',
    });
    expect([status, problem.code]).toEqual([400, 'nested_too_deeply']);
  });

  bomb('more bytes than are taken, declared or not', 150 * MIB, async () => {
    const declared = await push(Buffer.alloc(17 * MIB));
    expect([declared.status, declared.problem.code]).toEqual([413, 'body_too_large']);
    const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(MIB), Buffer.from('\r\n')]);
    const chunked = await sendRaw(service.url, [
      `PUT /v1/clusters/${CLUSTER_ID}/snapshot HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\nTransfer-Encoding: chunked\r\n\r\n`,
      ...Array.from({ length: 17 }, () => chunk),
      '0\r\n\r\n',
    ]);
    expect(chunked.status).toBe(413);
    expect(JSON.parse(chunked.body).code).toBe('body_too_large');
  });

  it('a body of 50,000 chunks of one byte', async () => {
    const growth = await peakGrowth(async () => {
      const response = await sendRaw(service.url, [
        `PUT /v1/clusters/${CLUSTER_ID}/snapshot HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\nTransfer-Encoding: chunked\r\n\r\n`,
        repeated(Buffer.from('1\r\n\0\r\n'), 50_000),
        '0\r\n\r\n',
      ]);
      expect(JSON.parse(response.body).code).toBe('malformed_protobuf');
    });
    expect(growth).toBeLessThan(150 * MIB);
  });

  bomb('headers beyond the limit', 64 * MIB, async () => {
    for (const flood of [
      `X-Long: ${'a'.repeat(20_000)}\r\n`,
      'X-Many: a\r\n'.repeat(5_000),
      `Authorization: Bearer ${'a'.repeat(20_000)}\r\n`,
    ]) {
      const response = await sendRaw(service.url, `GET /healthz HTTP/1.1\r\nHost: localhost\r\n${flood}\r\n`);
      expect(response.status).toBe(431);
      expect(response.headers.get('content-type')).toBe('application/problem+json');
      const problem = JSON.parse(response.body);
      expect(problem).toMatchObject({
        code: 'headers_too_large',
        detail: 'The request line and headers have more than 16384 bytes, which is the most that is taken.',
      });
      expect(problem.requestId).toBe(response.headers.get('x-request-id'));
    }
  });

  bomb('what is not HTTP', 64 * MIB, async () => {
    for (const bytes of [
      'GET\r\n\r\n',
      'GET / HTTP/9.9\r\nHost: localhost\r\n\r\n',
      'GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      'PUT /v1/clusters/a/snapshot HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n',
      'PUT /v1/clusters/a/snapshot HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      'GET \\v1\\map HTTP/1.1\r\nHost: localhost\r\n\r\n',
      'GET /v1/map HTTP/1.1\r\nHost: a/b\r\n\r\n',
      'GET /v1/map HTTP/1.1\r\n\r\n',
    ]) {
      const response = await sendRaw(service.url, bytes);
      expect([bytes, response.status]).toEqual([bytes, 400]);
      expect(response.headers.get('content-type')).toBe('application/problem+json');
      expect(JSON.parse(response.body).requestId).toBe(response.headers.get('x-request-id'));
    }
  });

  bomb('more bombs at once than may wait', 400 * MIB, async () => {
    const bomb = gzipSync(Buffer.alloc(10 * MIB), { level: 9 });
    const responses = await Promise.all(Array.from({ length: 120 }, () => push(bomb, gzipped)));
    const codes = new Set(responses.map(({ status, problem }) => `${status} ${problem.code}`));
    expect([...codes].sort()).toEqual(['413 body_too_large', '503 overloaded']);
  });
});

describe('A message that stands twice', () => {
  it('is merged, and what was validated is what is served', async () => {
    const body = snapshotBytes(
      nested(FIELD.cluster, text(4, 'eu'), text(3, 'aws')),
      nested(FIELD.cluster, text(4, 'us')),
      integer(FIELD.logicalCounter, Number(counter + 2n)),
    );
    counter++;
    expect((await push(body)).status).toBe(200);
    const served = (await (await fetch(`${service.url}/v1/clusters/${CLUSTER_ID}/snapshot`)).json()) as {
      cluster: unknown;
      logicalCounter: string;
    };
    expect(served.cluster).toEqual({ clusterId: CLUSTER_ID, provider: 'aws', region: 'us' });
    expect(served.logicalCounter).toBe(String(counter));
  });

  it('is refused where the second one names another cluster', async () => {
    const { status, problem } = await push(snapshotBytes(nested(FIELD.cluster, text(1, 'other'))));
    expect([status, problem.code]).toEqual([422, 'invalid_snapshot']);
  });

  it('is refused in JSON, where one name is given twice under its two spellings', async () => {
    const { status, problem } = await push(
      Buffer.from('{"cluster":{"clusterId":"a","cluster_id":"c1"},"logicalCounter":"9"}'),
      { 'content-type': 'application/json' },
    );
    expect([status, problem.code]).toEqual([400, 'malformed_json']);
  });
});

describe('What is taken up to the limits', () => {
  it('holds a length that is written with more bytes than it needs', async () => {
    const id = Buffer.from(CLUSTER_ID);
    const body = snapshotBytes();
    const padded = Buffer.concat([
      tag(FIELD.cluster, 2),
      Buffer.from([0x84, 0x80, 0x80, 0x00]),
      tag(1, 2),
      varint(id.length),
      id,
    ]);
    expect((await push(Buffer.concat([body, padded]))).status).toBe(200);
  });
});

// Last: memory that it gave back to the process, though not to the system, would hide what others take.
describe('The measure of memory', () => {
  it('sees what a request takes for a moment, in buffers and on the heap', async () => {
    const buffer = await peakGrowth(async () => {
      Buffer.alloc(200 * MIB, 1);
    });
    expect(buffer).toBeGreaterThan(150 * MIB);
    const heap = await peakGrowth(async () => {
      const objects = Array.from({ length: 4_000_000 }, (_, i) => ({ i, next: { i } }));
      expect(objects).toHaveLength(4_000_000);
    });
    // Of some 300 MB, less what the heap of this process had to spare.
    expect(heap).toBeGreaterThan(32 * MIB);
  });
});
