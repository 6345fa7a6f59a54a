/**
 * What keeps a web page away from a service that asks for no token. The page's name can be made
 * to resolve to 127.0.0.1 once it is loaded (DNS rebinding); to the browser the service is then
 * the page's own origin, and only the Host header distinguishes them.
 */
import type { MiddlewareHandler } from 'hono';
import { ResourceMapError } from '../core/errors.ts';
import { quote } from '../core/quote.ts';

const LOOPBACK_NAMES = 'localhost, 127.0.0.1 or [::1]';

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Whether a name or address of this machine alone. @param hostname IPv6 in brackets or not */
export function isLoopback(hostname: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/i.test(hostname);
}

/** Whether a Host header, or what follows `//` in an Origin, names this machine; on any port, since ports are forwarded. */
export function isLoopbackHost(host: string | undefined): boolean {
  return host !== undefined && isLoopback(host.replace(/:\d{1,5}$/, ''));
}

/**
 * Refuses requests that came in under another name than one of this machine's own, and writes
 * that a page of another site makes.
 */
export function loopbackGuard(): MiddlewareHandler {
  return async (c, next) => {
    const host = c.req.header('host');
    if (!isLoopbackHost(host)) {
      throw new ResourceMapError(
        'misdirected_request',
        `The service asks for no token, so it answers to ${LOOPBACK_NAMES} alone, and not to ${quote(host ?? '')}. ` +
          'Call it by one of these, or start it with --auth.',
      );
    }
    if (!READS.has(c.req.method) && isOfAnotherSite(c.req.header('sec-fetch-site'), c.req.header('origin'))) {
      throw new ResourceMapError(
        'cross_site_request',
        'A page of another site made the request, and the service asks for no token. Start it with --auth to let such pages write.',
      );
    }
    await next();
  };
}

/** Browsers send both headers with every write that a page makes; what is no browser sends neither. */
function isOfAnotherSite(site: string | undefined, origin: string | undefined): boolean {
  if (site === 'cross-site') return true;
  return origin !== undefined && !isLoopbackHost(/^https?:\/\/(.*)$/.exec(origin)?.[1]);
}
