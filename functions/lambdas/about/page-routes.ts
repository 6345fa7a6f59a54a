/** The page for people: at `/` for clients that accept HTML, and under `/ui`. */
import { gunzipSync } from 'node:zlib';
import type { Context } from 'hono';
import { parseAccept } from 'hono/utils/accept';
import type { App } from '../../http/app-env.ts';
import { knownRepresentations } from '../../http/conditional.ts';
import type { PageLinks } from '../../runtime/settings.ts';
import type { PageAsset, PageAssets } from './page-assets.ts';

/** What a deployment says to the page; the page reads it before anything else. */
export interface PageSettings extends PageLinks {
  /** Whether the service asks for tokens at all. */
  readonly auth: 'open' | 'tokens';
}

const IMMUTABLE = 'public, max-age=31536000, immutable';

/** Loaded when the page is asked for: a cold start for the sake of /healthz does not pay for it. */
async function loadPage(): Promise<PageAssets> {
  return (await import('./page.json', { with: { type: 'json' } })).default;
}

export function pageRoutes(app: App, settings: PageSettings, version: string): void {
  const secure = securityHeaders(settings);
  const html = async (c: Context): Promise<Response> =>
    sendAsset(c, (await loadPage()).html, 'no-cache', secure);

  app.get('/', async (c, next) => {
    if (!prefersHtml(c)) {
      await next();
      c.res.headers.append('vary', 'accept');
      return;
    }
    const response = await html(c);
    response.headers.append('vary', 'accept');
    return response;
  });
  app.get('/ui', html);
  app.get('/ui/config.json', (c) =>
    c.json({ ...settings, version }, 200, { 'cache-control': 'no-cache', ...secure }),
  );
  app.get('/ui/:file', async (c, next) => {
    const asset = (await loadPage()).named.find(({ path }) => path === c.req.path);
    return asset === undefined ? next() : sendAsset(c, asset, IMMUTABLE, secure);
  });
}

/**
 * Whether HTML is what the client wants most. A wildcard is no wish for it: what is not a
 * browser goes on getting JSON.
 */
function prefersHtml(c: Context): boolean {
  const ranges = parseAccept(c.req.header('accept') ?? '');
  const quality = (type: string): number => ranges.find((each) => each.type.toLowerCase() === type)?.q ?? 0;
  const html = Math.max(quality('text/html'), quality('application/xhtml+xml'));
  return html > 0 && html >= quality('application/json');
}

function sendAsset(
  c: Context,
  asset: PageAsset,
  cacheControl: string,
  secure: Readonly<Record<string, string>>,
): Response {
  const headers = {
    ...secure,
    'content-type': asset.contentType,
    'cache-control': cacheControl,
    etag: asset.etag,
    vary: 'accept-encoding',
  };
  if (knownRepresentations(c)(asset.etag)) return c.body(null, 304, headers);
  const codings = parseAccept(c.req.header('accept-encoding') ?? '');
  const accepts = (coding: string): boolean =>
    (codings.find((each) => each.type.toLowerCase() === coding)?.q ?? 0) > 0;
  const send = (bytes: Uint8Array, coding?: 'br' | 'gzip'): Response =>
    c.body(new Uint8Array(bytes), 200, {
      ...headers,
      'content-length': String(bytes.length),
      ...(coding === undefined ? {} : { 'content-encoding': coding }),
    });
  if (accepts('br')) return send(Buffer.from(asset.brotli, 'base64'), 'br');
  const zipped = Buffer.from(asset.gzip, 'base64');
  return accepts('gzip') ? send(zipped, 'gzip') : send(gunzipSync(zipped));
}

/** What the page may do: run its own script, and ask its own service and the provider of the sign-in. */
function securityHeaders({ oidc }: PageSettings): Readonly<Record<string, string>> {
  const connect = oidc === undefined ? "'self'" : `'self' ${new URL(oidc.issuer).origin}`;
  return {
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data:",
      `connect-src ${connect}`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ].join('; '),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
  };
}
