import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDynalite } from '../../functions/local/dynalite.ts';
import { isLoopbackHost } from '../../functions/local/loopback-guard.ts';
import { type LocalService, startService } from '../../functions/local/service.ts';
import { type RawResponse, sendRaw } from '../builders/raw-http.ts';

const MEMORY = { engine: { kind: 'memory' }, port: 0 } as const;

async function request(
  { url }: LocalService,
  method: string,
  headers: Readonly<Record<string, string>>,
  path = '/v1/clusters/a',
): Promise<RawResponse & { readonly problem: { readonly code?: string; readonly detail?: string } }> {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const response = await sendRaw(url, `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
  return { ...response, problem: response.body === '' ? {} : JSON.parse(response.body) };
}

describe('A Host names this machine', () => {
  it.each([
    'localhost',
    'LOCALHOST:8080',
    '127.0.0.1',
    '127.0.0.1:1',
    '127.1.2.3:65535',
    '[::1]',
    '[::1]:80',
  ])('as %s', (host) => expect(isLoopbackHost(host)).toBe(true));

  it.each([
    undefined,
    '',
    'evil.example',
    'evil.example:8080',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'a.localhost',
    'localhost@evil.example',
    'evil.example#localhost',
    '0.0.0.0',
    '10.0.0.1',
    '[::]',
    '[::ffff:10.0.0.1]',
    '127.0.0.1:80:80',
  ])('and not as %s', (host) => expect(isLoopbackHost(host)).toBe(false));
});

describe('The open service on loopback', () => {
  let service: LocalService;
  beforeAll(async () => {
    service = await startService({ ...MEMORY, host: '127.0.0.1' });
  });
  afterAll(() => service.close());

  it.each(['GET', 'PUT', 'DELETE', 'POST'])(
    'refuses %s under a name that a page brought here',
    async (method) => {
      const { status, problem } = await request(service, method, { Host: 'evil.example:8080' });
      expect([status, problem.code]).toEqual([421, 'misdirected_request']);
      expect(problem.detail).toBe(
        'The service asks for no token, so it answers to localhost, 127.0.0.1 or [::1] alone, and not to ' +
          '"evil.example:8080". Call it by one of these, or start it with --auth.',
      );
    },
  );

  it('refuses it wherever it asks, the start page and the events included', async () => {
    for (const path of ['/', '/healthz', '/v1/map', '/local/events', '/nothing']) {
      expect((await request(service, 'GET', { Host: 'evil.example' }, path)).status).toBe(421);
    }
  });

  it.each([
    { Origin: 'https://evil.example' },
    { Origin: 'null' },
    { Origin: 'https://localhost.evil.example' },
    { Origin: 'http://localhost', 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'cross-site' },
  ])('refuses a write that a page of another site makes: %o', async (headers) => {
    const { status, problem } = await request(service, 'DELETE', { Host: 'localhost', ...headers });
    expect([status, problem.code]).toEqual([403, 'cross_site_request']);
    expect(problem.detail).toContain('Start it with --auth');
    expect((await request(service, 'GET', { Host: 'localhost', ...headers })).status).toBe(404);
  });

  it.each([
    {},
    { Origin: 'http://localhost:3000', 'Sec-Fetch-Site': 'same-site' },
    { Origin: 'http://127.0.0.1:8080', 'Sec-Fetch-Site': 'same-origin' },
    { Origin: 'http://[::1]:8080' },
    { 'Sec-Fetch-Site': 'none' },
  ])('takes a write of this machine, through a forwarded port too: %o', async (headers) => {
    const { status, problem } = await request(service, 'DELETE', { Host: 'localhost:9999', ...headers });
    expect([status, problem.code]).toEqual([404, 'cluster_not_found']);
  });
});

describe('Any name will do', () => {
  it('for a service that asks for tokens', async () => {
    const service = await startService({ ...MEMORY, host: '127.0.0.1', access: { kind: 'tokens' } });
    try {
      expect((await request(service, 'GET', { Host: 'map.example' }, '/healthz')).status).toBe(200);
      expect((await request(service, 'GET', { Host: 'map.example' })).status).toBe(401);
    } finally {
      await service.close();
    }
  });

  it('for one that was told to listen to the network', async () => {
    const service = await startService({ ...MEMORY, host: '0.0.0.0' });
    try {
      const url = service.url.replace('0.0.0.0', '127.0.0.1');
      expect((await request({ ...service, url }, 'GET', { Host: 'map.example' }, '/healthz')).status).toBe(
        200,
      );
    } finally {
      await service.close();
    }
  });
});

it('The embedded engine, which takes any signature, answers to this machine’s names alone', async () => {
  const engine = await startDynalite();
  try {
    const ask = (host: string): Promise<RawResponse> =>
      sendRaw(engine.endpoint, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect((await ask('evil.example')).status).toBe(421);
    expect((await ask('127.0.0.1')).status).toBe(200);
  } finally {
    await engine.close();
  }
});
