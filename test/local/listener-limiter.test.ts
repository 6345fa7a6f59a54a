/** Listeners by the hundred, over real connections to the real service. */
import { once, setMaxListeners } from 'node:events';
import { get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_LISTENERS, MAX_LISTENERS_PER_CALLER } from '../../functions/http/limits.ts';
import { type LocalService, startService } from '../../functions/local/service.ts';
import { type GuardedService, startGuardedService } from '../auth/guarded-service.ts';
import { RecordedTelemetry } from '../lambdas/notify/recorded-telemetry.ts';

const WITHIN = { timeout: 10_000, interval: 50 };

interface Held {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Of a refusal; a stream goes on. */
  readonly body: unknown;
}

/** A listener on a connection of its own, which stays until the signal. */
async function hold(url: string, signal: AbortSignal, token?: string): Promise<Held> {
  // One signal ends many connections.
  setMaxListeners(0, signal);
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const asking = get(`${url}/local/events`, { agent: false, headers, signal });
  asking.on('error', () => undefined);
  const [response] = (await once(asking, 'response')) as [IncomingMessage];
  const status = response.statusCode ?? 0;
  if (status !== 200) return { status, headers: response.headers, body: await json(response) };
  response.on('error', () => undefined).resume();
  return { status, headers: response.headers, body: undefined };
}

describe('Listeners of one caller', () => {
  let service: LocalService;
  let connections: AbortController;
  beforeEach(async () => {
    service = await startService({
      engine: { kind: 'memory' },
      port: 0,
      host: '127.0.0.1',
      telemetry: new RecordedTelemetry(),
    });
    connections = new AbortController();
  });
  afterEach(async () => {
    connections.abort();
    await service.close();
  });

  /** Statuses of so many listeners at the same time; those that are taken stay. */
  const holdMany = async (count: number): Promise<readonly number[]> => {
    const responses = Array.from({ length: count }, () => hold(service.url, connections.signal));
    return (await Promise.all(responses)).map(({ status }) => status);
  };
  /** Passes once all places are free: they are taken, one more is refused, and they are given back. */
  const expectAllFree = (): Promise<void> =>
    vi.waitFor(async () => {
      const attempt = new AbortController();
      try {
        const responses = Array.from({ length: MAX_LISTENERS_PER_CALLER }, () =>
          hold(service.url, attempt.signal),
        );
        const statuses = (await Promise.all(responses)).map(({ status }) => status);
        expect(statuses).toEqual(statuses.map(() => 200));
        expect((await hold(service.url, attempt.signal)).status).toBe(429);
      } finally {
        attempt.abort();
      }
    }, WITHIN);

  it('are so many and no more, and one that goes makes room', async () => {
    const first = new AbortController();
    await hold(service.url, first.signal);
    expect(await holdMany(MAX_LISTENERS_PER_CALLER - 1)).not.toContain(429);
    const refused = await hold(service.url, connections.signal);
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '5']);
    expect(refused.body).toMatchObject({
      code: 'too_many_listeners',
      detail: '16 listeners of this caller are connected, which is the most for one. End one of them.',
    });
    first.abort();
    await vi.waitFor(async () => expect(await holdMany(1)).toEqual([200]), WITHIN);
    expect(await holdMany(1)).toEqual([429]);
    connections.abort();
    await expectAllFree();
  });

  it('hold nothing where they ask for the head alone', async () => {
    for (let i = 0; i <= MAX_LISTENERS_PER_CALLER; i++) {
      const { status, headers } = await fetch(`${service.url}/local/events`, { method: 'HEAD' });
      expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    }
    await expectAllFree();
  });

  it('hold nothing once they are gone, however soon they go and however many share a connection', async () => {
    const { port } = new URL(service.url);
    const request = 'GET /local/events HTTP/1.1\r\nHost: localhost\r\n\r\n';
    const open = (): Socket => connect(Number(port), '127.0.0.1').on('error', () => undefined);
    for (let i = 0; i < 40; i++) {
      const socket = open();
      socket.write(request, () => socket.destroy());
    }
    await expectAllFree();
    const pipelined = open();
    pipelined.write(request.repeat(MAX_LISTENERS_PER_CALLER));
    await new Promise((resolve) => pipelined.once('data', resolve));
    pipelined.destroy();
    await expectAllFree();
  });
});

describe('Listeners of all callers', () => {
  let service: GuardedService;
  beforeEach(async () => {
    service = await startGuardedService();
  });
  afterEach(() => service.close());

  it('are so many and no more, each caller with room of its own as long as there is any', async () => {
    const callers = MAX_LISTENERS / MAX_LISTENERS_PER_CALLER;
    const tokens: string[] = [];
    for (let i = 0; i <= callers; i++) tokens.push(await service.issue('SCHEDULER'));
    const [last = '', ...others] = tokens;
    const connections = new AbortController();
    const held: Held[] = [];
    for (const token of others) {
      const responses = Array.from({ length: MAX_LISTENERS_PER_CALLER }, () =>
        hold(service.url, connections.signal, token),
      );
      held.push(...(await Promise.all(responses)));
    }
    expect(held.map(({ status }) => status)).toEqual(held.map(() => 200));
    const refused = await hold(service.url, connections.signal, last);
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5']);
    expect(refused.body).toMatchObject({
      code: 'overloaded',
      detail: '256 listeners are connected, which is the most that are taken. Try again once one has gone.',
    });
    // Who was refused for the others holds nothing, and who holds all of their own hears of that first.
    expect((await hold(service.url, connections.signal, others[0])).status).toBe(429);
    connections.abort();
    const again = new AbortController();
    await vi.waitFor(
      async () => expect((await hold(service.url, again.signal, last)).status).toBe(200),
      WITHIN,
    );
    again.abort();
  });
});
