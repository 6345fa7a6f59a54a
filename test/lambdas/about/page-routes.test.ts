import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createApp } from '../../../functions/http/app.ts';
import type { PageSettings } from '../../../functions/lambdas/about/page-routes.ts';
import { aboutRoutes } from '../../../functions/lambdas/about/routes.ts';
import { jsonLinesTelemetry } from '../../../functions/runtime/telemetry.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

function get(
  path: string,
  headers: Record<string, string> = {},
  settings: PageSettings = { auth: 'tokens' },
): Promise<Response> {
  const app = createApp(
    jsonLinesTelemetry(() => undefined),
    { kind: 'open' },
  );
  aboutRoutes(app, settings);
  return Promise.resolve(app.request(`http://map.example${path}`, { headers }));
}

async function assets(): Promise<readonly string[]> {
  const html = await (await get('/ui')).text();
  return [...html.matchAll(/(?:href|src)="(\/ui\/[^"]+)"/g)].map(([, path]) => path ?? '');
}

describe('At / there is', () => {
  it.each([
    ['a browser', BROWSER],
    ['whoever wants HTML alone', 'text/html'],
    ['whoever wants HTML as much as JSON', 'application/json, text/html'],
  ])('the page for %s', async (_, accept) => {
    const response = await get('/', { accept });
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(await response.text()).toMatch(/^<!doctype html>/);
    expect(response.headers.get('vary')).toMatch(/accept-encoding.*accept$/);
  });

  it.each([
    ['curl', '*/*'],
    ['a client that says nothing', undefined],
    ['a client of the API', 'application/json'],
    ['a client that wants JSON more', 'application/json, text/html;q=0.5'],
    ['a client that refuses HTML', 'text/html;q=0, */*'],
    ['any text', 'text/*'],
  ])('JSON for %s', async (_, accept) => {
    const response = await get('/', accept === undefined ? {} : { accept });
    expect(((await response.json()) as { service: string }).service).toBe('resource-map');
    expect(response.headers.get('vary')).toBe('accept');
  });
});

describe('The page', () => {
  it('runs its own script alone, and is shown in no frame', async () => {
    for (const path of ['/ui', ...(await assets()), '/ui/config.json']) {
      const { headers } = await get(path);
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
      );
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
    }
  });

  it('may ask the provider of the sign-in, by its origin', async () => {
    const oidc = { issuer: 'https://login.example.com/tenants/a', clientId: 'page' };
    const { headers } = await get('/ui', {}, { auth: 'tokens', oidc });
    expect(headers.get('content-security-policy')).toContain("connect-src 'self' https://login.example.com;");
    const config = await (await get('/ui/config.json', {}, { auth: 'tokens', oidc })).json();
    expect(config).toEqual({ auth: 'tokens', oidc, version: '0.1.0' });
  });

  it('is compressed as the browser can take it, and is the same in each form', async () => {
    for (const path of ['/ui', ...(await assets())]) {
      const bytes = async (accepts: string): Promise<[string | null, Buffer]> => {
        const response = await get(path, accepts === '' ? {} : { 'accept-encoding': accepts });
        const body = Buffer.from(await response.arrayBuffer());
        expect(response.headers.get('content-length')).toBe(String(body.length));
        return [response.headers.get('content-encoding'), body];
      };
      const [none, plain] = await bytes('');
      const [gzip, zipped] = await bytes('gzip, deflate');
      const [br, brotli] = await bytes('gzip, deflate, br, zstd');
      expect([none, gzip, br]).toEqual([null, 'gzip', 'br']);
      expect(gunzipSync(zipped)).toEqual(plain);
      expect(brotliDecompressSync(brotli)).toEqual(plain);
    }
  });

  it('is at most 30 KB in gzip, all files together', async () => {
    let bytes = 0;
    for (const path of ['/ui', ...(await assets())]) {
      bytes += Number((await get(path, { 'accept-encoding': 'gzip' })).headers.get('content-length'));
    }
    expect(bytes).toBeLessThanOrEqual(30_000);
    expect(bytes).toBeGreaterThan(20_000);
  });

  it('is asked for again each time, and what its name changes with is kept forever', async () => {
    const html = await get('/ui');
    expect(html.headers.get('cache-control')).toBe('no-cache');
    const etag = html.headers.get('etag') ?? '';
    const again = await get('/ui', { 'if-none-match': etag });
    expect([again.status, await again.text()]).toEqual([304, '']);
    const paths = await assets();
    expect(paths.length).toBe(2);
    for (const path of paths) {
      expect(path).toMatch(/^\/ui\/[0-9a-f]{16}\.(js|css)$/);
      expect((await get(path)).headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    }
  });

  it('has no other files', async () => {
    for (const path of ['/ui/nothing.js', '/ui/..%2fhandler.ts', '/ui/page.json']) {
      expect((await get(path)).status).toBe(404);
    }
  });
});
