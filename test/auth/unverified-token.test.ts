import { expect, it } from 'vitest';
import { unverifiedToken } from '../../functions/auth/unverified-token.ts';
import { createApp } from '../../functions/http/app.ts';
import type { LogFields } from '../../functions/runtime/telemetry.ts';
import { UNVERIFIED } from './unverified.ts';

it('A token that was not verified is refused without the reason, which the log has', async () => {
  const lines: LogFields[] = [];
  const telemetry = {
    warn: (_: string, fields: LogFields) => void lines.push(fields),
    error: () => undefined,
    count: () => undefined,
    gauge: () => undefined,
  };
  const app = createApp(telemetry, { kind: 'open' });
  app.get('/refuses', () => {
    throw unverifiedToken('The issuer has no key "key-9".', new Error('no key'));
  });
  const response = await app.request('/refuses');
  expect(response.status).toBe(401);
  const problem = (await response.json()) as { detail: string };
  expect(problem.detail).toBe(UNVERIFIED);
  expect(JSON.stringify(problem)).not.toContain('key-9');
  expect(lines).toEqual([
    { method: 'GET', path: '/refuses', code: 'invalid_token', reason: 'The issuer has no key "key-9".' },
  ]);
});
