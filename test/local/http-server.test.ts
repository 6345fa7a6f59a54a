/** How the local server ends, with clients of every kind connected. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../functions/http/app.ts';
import type { App } from '../../functions/http/app-env.ts';
import { type HttpServer, listen } from '../../functions/local/http-server.ts';
import { RecordedTelemetry } from '../lambdas/notify/recorded-telemetry.ts';

const GRACE_MS = 2_500;

/** Enough of a loaded machine's time for what takes milliseconds, and less than the grace. */
const SOON_MS = 2_000;

describe('A server that is to end', () => {
  let app: App;
  let server: HttpServer;
  let finish: () => void;
  const sockets: Socket[] = [];

  beforeEach(async () => {
    app = createApp(new RecordedTelemetry(), { kind: 'open' });
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    app.get('/slow', async (c) => {
      await finished;
      return c.text('whole');
    });
    app.post('/body', async (c) => c.text(await c.req.text()));
    server = await listen(app, '127.0.0.1', 0, GRACE_MS);
  });
  afterEach(async () => {
    finish();
    for (const socket of sockets.splice(0)) socket.destroy();
    await server.close();
  });

  /** Connects, sends, and collects what comes. */
  async function client(sent: string): Promise<{ readonly received: () => string }> {
    const socket = connect(server.port, '127.0.0.1');
    sockets.push(socket);
    let received = '';
    socket.on('data', (data) => {
      received += String(data);
    });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    if (sent !== '') socket.write(sent);
    await sleep(100);
    return { received: () => received };
  }

  async function msToClose(): Promise<number> {
    const startedMs = performance.now();
    await server.close();
    return performance.now() - startedMs;
  }

  it('does not wait for who has asked nothing, or not to the end of the headers', async () => {
    await client('');
    await client('GET /slow HTTP/1.1\r\nHost: a\r\n');
    const answered = await client('GET /absent HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(answered.received()).toContain('404');
    expect(await msToClose()).toBeLessThan(SOON_MS);
  });

  it('sends the responses under way', async () => {
    const waiting = await client('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
    setTimeout(finish, 200);
    expect(await msToClose()).toBeLessThan(SOON_MS);
    await expect.poll(waiting.received).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\n\r\nwhole$/);
  });

  it('keeps no connection whose client goes on sending requests', async () => {
    const socket = connect(server.port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => undefined);
    const another = (): boolean => socket.write('GET /absent HTTP/1.1\r\nHost: a\r\n\r\n');
    socket.on('data', another);
    socket.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
    await sleep(100);
    setTimeout(finish, 100);
    expect(await msToClose()).toBeLessThan(SOON_MS);
  });

  it('waits for what makes a response although its client has gone', async () => {
    let made = false;
    app.get('/made', async (c) => {
      await sleep(500);
      made = true;
      return c.text('');
    });
    await client('GET /made HTTP/1.1\r\nHost: a\r\n\r\n');
    for (const socket of sockets) socket.destroy();
    expect(await msToClose()).toBeLessThan(SOON_MS);
    expect(made).toBe(true);
  });

  it('waits no longer than the grace for a request that does not go on', { timeout: 30_000 }, async () => {
    await client('POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc');
    const ms = await msToClose();
    expect(ms).toBeGreaterThan(GRACE_MS - 100);
    expect(ms).toBeLessThan(GRACE_MS + SOON_MS);
  });
});
