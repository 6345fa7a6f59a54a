/**
 * Runs an app as a Lambda function behind an API Gateway HTTP API (payload 2.0).
 *
 * That front decodes the path before it calls us, once, so `%2F` in an id arrives as a
 * slash and `%2525` as `%25`. Routes expect the path as the client sent it, so it is
 * encoded again here, where it is known to be decoded. Two things cannot be restored:
 * the front cuts a path at a decoded `?`, and an id that ends in `/snapshot` reads like
 * the snapshot of a shorter one. So no cluster can be pushed under such an id.
 */
import type { APIGatewayProxyEventV2, Context as LambdaContext } from 'aws-lambda';
import { handle, type LambdaEvent } from 'hono/aws-lambda';
import type { App } from './app-env.ts';
import { CLUSTERS_PATH } from './cluster-path.ts';

const SNAPSHOT_SUFFIX = '/snapshot';

/** The handler that a Lambda function exports. */
export function lambdaHandler(
  app: App,
): (event: APIGatewayProxyEventV2, context: LambdaContext) => Promise<unknown> {
  const handleEvent = handle(app);
  return (event, context) => {
    const asSent = { ...event, rawPath: encodedPath(event.rawPath) };
    // Hono's own event type lacks what AWS leaves out; the adapter reads nothing but what both have.
    return handleEvent(asSent as unknown as LambdaEvent, context);
  };
}

/** The path that a client sends for a path that a front has decoded. */
export function encodedPath(decoded: string): string {
  if (!decoded.startsWith(CLUSTERS_PATH)) return encodeURI(decoded).replace(/[?#]/g, encodeURIComponent);
  const rest = decoded.slice(CLUSTERS_PATH.length);
  // A cluster may be called "snapshot", or even "/snapshot"; what ends a path has an id before it.
  const hasSuffix = rest.endsWith(SNAPSHOT_SUFFIX) && rest.length > SNAPSHOT_SUFFIX.length;
  const suffix = hasSuffix ? SNAPSHOT_SUFFIX : '';
  return `${CLUSTERS_PATH}${encodeURIComponent(rest.slice(0, rest.length - suffix.length))}${suffix}`;
}
