import { afterAll, beforeAll, expect, it } from 'vitest';
import { newToken, tokenDigest } from '../../functions/auth/static-token.ts';
import { type LocalService, startService } from '../../functions/local/service.ts';
import { jsonLinesTelemetry } from '../../functions/runtime/telemetry.ts';

let service: LocalService;
const lines: string[] = [];
const admin = newToken();

beforeAll(async () => {
  service = await startService({
    engine: { kind: 'memory' },
    port: 0,
    host: '127.0.0.1',
    telemetry: jsonLinesTelemetry((line) => lines.push(line), true),
    access: { kind: 'tokens', adminTokenSha256: tokenDigest(admin) },
  });
});
afterAll(() => service.close());

async function lineOf(method: string, path: string, token?: string): Promise<Record<string, unknown>> {
  lines.length = 0;
  const response = await fetch(service.url + path, {
    method,
    headers: {
      'x-request-id': 'of-this-test',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
  });
  await response.text();
  const found = lines.map((line) => JSON.parse(line)).filter(({ message }) => message === 'request');
  expect(found.length).toBe(1);
  expect(lines.join('')).not.toContain(admin);
  return found[0];
}

it('Each request has a line: by route and not by path, with who asked, and no secret', async () => {
  expect(await lineOf('GET', '/v1/clusters/a%2Fb', admin)).toEqual({
    level: 'info',
    message: 'request',
    service: 'local',
    timestamp: expect.stringMatching(/^\d{4}-/),
    requestId: 'of-this-test',
    method: 'GET',
    route: 'GET /v1/clusters/{id}',
    status: 404,
    ms: expect.any(Number),
    principal: 'deployment',
    role: 'admin',
  });
  expect(await lineOf('GET', '/v1/map', admin)).toMatchObject({
    route: 'GET /v1/map',
    status: 200,
    bytes: expect.any(Number),
  });
});

it('A request that is refused, or leads nowhere, has one as well', async () => {
  const refused = await lineOf('GET', '/v1/map');
  expect(refused).toMatchObject({ route: 'GET /v1/map', status: 401 });
  expect(refused).not.toHaveProperty('principal');
  expect(await lineOf('GET', '/nothing/here')).toMatchObject({ route: 'none', status: 404 });
});
