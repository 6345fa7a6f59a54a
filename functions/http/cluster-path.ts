/**
 * The cluster id of a URL. An id may hold any printable character, slashes included,
 * so the path is kept as it came and decoded here, once.
 */
import type { Context } from 'hono';
import { ResourceMapError } from '../core/errors.ts';
import { clusterIdFault } from '../core/snapshot/rules/ids.ts';

export const CLUSTERS_PATH = '/v1/clusters/';

/** Route of a cluster's snapshot. */
export const SNAPSHOT_ROUTE = '/v1/clusters/:id{.+}/snapshot';
/**
 * Route of a cluster. It says what it does not match, since Hono's routers prefer the
 * longer match to the one that was registered first.
 */
export const CLUSTER_ROUTE = '/v1/clusters/:id{.+(?<!/snapshot)}';

/**
 * The id between `/v1/clusters/` and `suffix`.
 *
 * @throws ResourceMapError `invalid_cluster_id`
 */
export function clusterIdOf(c: Context, suffix: '' | '/snapshot'): string {
  const encoded = c.req.path.slice(CLUSTERS_PATH.length, c.req.path.length - suffix.length);
  let id: string;
  try {
    id = decodeURIComponent(encoded);
  } catch {
    throw new ResourceMapError(
      'invalid_cluster_id',
      `The cluster id ${JSON.stringify(encoded.slice(0, 300))} is not percent-encoded UTF-8; encode a "%" as "%25".`,
      { field: 'cluster', value: encoded },
    );
  }
  const fault = clusterIdFault(id);
  if (fault === undefined) return id;
  throw new ResourceMapError('invalid_cluster_id', `The cluster id ${fault}.`, {
    field: 'cluster',
    value: id,
  });
}

/** The path of a request URL as it was sent: not decoded, since "%2F" within an id is not a separator. */
export function undecodedPath(request: Request): string {
  const afterScheme = request.url.indexOf('/', request.url.indexOf('://') + 3);
  if (afterScheme === -1) return '/';
  const end = request.url.slice(afterScheme).search(/[?#]/);
  return end === -1 ? request.url.slice(afterScheme) : request.url.slice(afterScheme, afterScheme + end);
}
