import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { toBinary } from '@bufbuild/protobuf';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { ResourceMapError } from '../../functions/core/errors.ts';
import { ClusterResourceMapSchema } from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { createApp } from '../../functions/http/app.ts';
import { SLOW_BODY_MS } from '../../functions/http/limits.ts';
import { MemoryBudget } from '../../functions/http/memory-budget.ts';
import { pushRoutes } from '../../functions/lambdas/push/routes.ts';
import { type HttpServer, listen } from '../../functions/local/http-server.ts';
import { jsonLinesTelemetry } from '../../functions/runtime/telemetry.ts';
import { sendRaw } from '../builders/raw-http.ts';
import { snapshotOf } from '../core/snapshot/builders.ts';
import { engines, freshStore } from '../engines/store.ts';

const KIB = 1024;

/** Milliseconds: on a busy machine a hundred connections take seconds. */
const WAIT_OPTIONS = 15_000;

/** What a call throws, by its code. */
function codeOf(call: () => unknown): string | undefined {
  try {
    call();
  } catch (error) {
    return error instanceof ResourceMapError ? error.code : String(error);
  }
  return undefined;
}

describe('The memory that requests share', () => {
  it('is refused to one more, who takes nothing by it, and is there again once a request is closed', () => {
    const budget = new MemoryBudget(100);
    const [first, second] = [budget.open(), budget.open()];
    first.take(60);
    expect(codeOf(() => second.take(41))).toBe('overloaded');
    expect(budget.free).toBe(40);
    second.take(40);
    first.release(10);
    expect(budget.free).toBe(10);
    first.close();
    first.close();
    second.close();
    expect(budget.free).toBe(100);
  });

  it('is taken back from the longest of those who send slowly, and from no more than is needed', async () => {
    let now = 0;
    const budget = new MemoryBudget(100, () => now);
    const cut: string[] = [];
    const slow = ['a', 'b', 'c'].map((name) => {
      const share = budget.open();
      let end: () => void = () => undefined;
      const reading = share
        .read(
          () => {
            cut.push(name);
            end();
          },
          () => {
            share.take(30);
            return new Promise<void>((resolve) => {
              end = resolve;
            });
          },
        )
        .catch((error: ResourceMapError) => error);
      return { share, reading };
    });
    const other = budget.open();
    now = SLOW_BODY_MS - 1;
    expect(codeOf(() => other.take(35))).toBe('overloaded');
    expect(cut).toEqual([]);
    now = SLOW_BODY_MS;
    other.take(35);
    expect(cut).toEqual(['a']);
    expect(budget.free).toBe(5);
    expect(await slow[0]?.reading).toMatchObject({
      code: 'request_timeout',
      details: { retryAfterSeconds: 1 },
    });
    expect(codeOf(() => slow[0]?.share.take(1))).toBe('request_timeout');
    slow[0]?.share.release(30);
    for (const { share } of slow) share.close();
    other.close();
    expect(budget.free).toBe(100);
  });

  it('is not taken from a request whose body is there, however long it is under way', async () => {
    let now = 0;
    const budget = new MemoryBudget(100, () => now);
    const first = budget.open();
    await first.read(
      () => expect.fail('It is cut off.'),
      async () => first.take(90),
    );
    now = 60_000;
    expect(codeOf(() => budget.open().take(20))).toBe('overloaded');
    expect(budget.free).toBe(10);
  });
});

describe('Over HTTP', () => {
  const BUDGET = 1024 * KIB;
  let now = 0;
  let counter = 0n;
  let server: HttpServer;
  const budget = new MemoryBudget(BUDGET, () => now);
  const sockets: Socket[] = [];

  beforeAll(async () => {
    const [engine] = engines;
    if (engine === undefined) throw new Error('no engine runs');
    const telemetry = jsonLinesTelemetry(() => undefined);
    const app = createApp(telemetry, { kind: 'open' }, budget);
    pushRoutes(app, { store: await freshStore(engine), telemetry, now: Date.now });
    server = await listen(app, '127.0.0.1', 0);
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await vi.waitFor(() => expect(budget.free).toBe(BUDGET), WAIT_OPTIONS);
  });
  afterAll(() => void server.close());

  const port = (): number => server.port;

  async function push(body?: Uint8Array, headers: Record<string, string> = {}): Promise<number> {
    counter++;
    const bytes = body ?? toBinary(ClusterResourceMapSchema, snapshotOf({ logicalCounter: counter }));
    const lines = Object.entries({
      host: 'localhost',
      'content-type': 'application/x-protobuf',
      'content-length': String(bytes.length),
      ...headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `PUT /v1/clusters/c1/snapshot HTTP/1.1\r\n${lines.join('')}\r\n`;
    return (await sendRaw(`http://127.0.0.1:${port()}`, [head, bytes])).status;
  }

  /** Promises a megabyte, sends a little of it, and then nothing. */
  async function sendSlowly(
    bytes: number,
  ): Promise<{ readonly socket: Socket; readonly response: () => string }> {
    const socket = connect(port(), '127.0.0.1');
    socket.on('error', () => undefined);
    sockets.push(socket);
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
    });
    await once(socket, 'connect');
    socket.write(
      'PUT /v1/clusters/c1/snapshot HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\nContent-Length: 1000000\r\n\r\n',
    );
    socket.write(Buffer.alloc(bytes));
    return { socket, response: () => received };
  }

  it('senders who stall with all the memory in their hands make way for a good push', async () => {
    const slow = await Promise.all(Array.from({ length: 16 }, () => sendSlowly(50_000)));
    await vi.waitFor(() => expect(budget.free).toBe(0), WAIT_OPTIONS);
    // For as long as they may be honest, there is nothing to be had.
    expect(await push()).toBe(503);
    now += SLOW_BODY_MS;
    for (let i = 0; i < 5; i++) expect(await push()).toBe(200);
    const reported = slow.map(({ response }) => response()).filter((text) => text.startsWith('HTTP/1.1 408'));
    expect(reported.length).toBeGreaterThan(0);
    expect(reported[0]).toContain('"code":"request_timeout"');
    expect(reported[0]?.toLowerCase()).toContain('retry-after: 1\r\n');
  });

  it('many senders who stall with little in their hands keep nobody out', async () => {
    const slow = await Promise.all(Array.from({ length: 100 }, () => sendSlowly(1)));
    // Sixteen have their first 64 KB each, and the others a response.
    await vi.waitFor(
      () => expect(slow.filter(({ response }) => response().startsWith('HTTP/1.1 503'))).toHaveLength(84),
      WAIT_OPTIONS,
    );
    now += SLOW_BODY_MS;
    for (let i = 0; i < 5; i++) expect(await push()).toBe(200);
  });

  it('what a sender held who went away in the middle is there again', async () => {
    const { socket } = await sendSlowly(200_000);
    await vi.waitFor(() => expect(budget.free).toBeLessThan(BUDGET), WAIT_OPTIONS);
    socket.destroy();
    await vi.waitFor(() => expect(budget.free).toBe(BUDGET), WAIT_OPTIONS);
  });

  it.each<[string, Uint8Array | undefined, Record<string, string>, number]>([
    ['is accepted', undefined, {}, 200],
    ['is no Protobuf', Buffer.from('nothing'), {}, 400],
    ['is no gzip', Buffer.from('nothing'), { 'content-encoding': 'gzip' }, 400],
    ['breaks rules', gzipSync(Buffer.from([0x1a, 0x00])), { 'content-encoding': 'gzip' }, 422],
    ['is too large for all of it', Buffer.alloc(1_100_000), {}, 503],
    [
      'inflates to more than there is',
      gzipSync(Buffer.alloc(2 * BUDGET)),
      { 'content-encoding': 'gzip' },
      503,
    ],
    ['has a type that is not taken', Buffer.from('a'), { 'content-type': 'text/plain' }, 415],
  ])('nothing is held after a push that %s', async (_, body, headers, status) => {
    expect(await push(body, headers)).toBe(status);
    expect(budget.free).toBe(BUDGET);
  });
});
