import { describe, expect, it } from 'vitest';
import { Authenticator } from '../../functions/auth/authenticator.ts';
import { newToken, tokenDigest } from '../../functions/auth/static-token.ts';
import { createApp } from '../../functions/http/app.ts';
import { jsonLinesTelemetry } from '../../functions/runtime/telemetry.ts';
import { dynamoClient } from '../../functions/storage/client.ts';
import { RegistrationStore } from '../../functions/storage/registrations.ts';

describe('A route that the table of permissions does not name', () => {
  const lines: string[] = [];
  const telemetry = jsonLinesTelemetry((line) => lines.push(line));
  const admin = newToken();
  const authenticator = new Authenticator({
    // The first admin's token is known without a read.
    trust: new RegistrationStore(dynamoClient('http://127.0.0.1:1'), 'trust'),
    telemetry,
    now: Date.now,
    adminTokenSha256: tokenDigest(admin),
    loopbackIssuers: false,
  });
  const app = createApp(telemetry, { kind: 'tokens', authenticator });
  let calls = 0;
  app.all('/every-method', (c) => c.text(String(++calls)));
  app.get('/unnamed', (c) => c.text(String(++calls)));
  app.post('/v1/map', (c) => c.text(String(++calls)));
  app.get('/healthz', (c) => c.text('ok'));

  it.each(['GET /unnamed', 'POST /v1/map'])('is closed without a token: %s', async (route) => {
    const [method = '', path = ''] = route.split(' ');
    const response = await app.request(path, { method });
    expect([response.status, await response.json()]).toEqual([
      401,
      expect.objectContaining({ code: 'unauthenticated' }),
    ]);
    expect(calls).toBe(0);
  });

  it.each(['GET /unnamed', 'POST /v1/map'])('is closed to an admin: %s', async (route) => {
    const [method = '', path = ''] = route.split(' ');
    const response = await app.request(path, { method, headers: { authorization: `Bearer ${admin}` } });
    expect([response.status, await response.json()]).toEqual([
      403,
      expect.objectContaining({
        code: 'forbidden',
        detail: `${route} is not for the role admin; it is for nobody.`,
      }),
    ]);
    expect(calls).toBe(0);
    expect(lines.join('')).toContain('request refused');
  });

  it('leaves what is open open', async () => {
    expect((await app.request('/healthz')).status).toBe(200);
  });
});
