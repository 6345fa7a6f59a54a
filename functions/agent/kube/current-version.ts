/** How far an API server's store is, and whether its cache, which watches are served from, is as far. */
import { at, text } from '../mapping/json.ts';
import type { KubeConnection } from './connection.ts';
import { listPath, type WatchedKind } from './kinds.ts';

/** The version of the store now. A list without a version is of the store itself; one object of it is enough. */
export async function currentVersion(
  connection: KubeConnection,
  kind: WatchedKind<unknown>,
  version: string,
  signal: AbortSignal,
): Promise<string> {
  const query = new URLSearchParams({ limit: '1' });
  // Of a kind of which one object may be seen, a list that names no object is refused.
  if (kind.single !== undefined) query.set('fieldSelector', `metadata.name=${kind.single.name}`);
  const page = await connection.json(`${listPath(kind, version)}?${query}`, { signal });
  return text(at(page, 'metadata', 'resourceVersion')) ?? '';
}

/**
 * Returns once the server's cache of a kind has what its store held at a version.
 *
 * @throws KubeApiError 504 if it does not get there within the few seconds that a server waits
 */
export async function waitForCache(
  connection: KubeConnection,
  kind: WatchedKind<unknown>,
  version: string,
  resourceVersion: string,
  signal: AbortSignal,
): Promise<void> {
  const query = new URLSearchParams({
    resourceVersion,
    resourceVersionMatch: 'NotOlderThan',
    // Lists from a cache have no pages, so that what is asked for must be next to nothing.
    fieldSelector: `metadata.name=${kind.single?.name ?? NO_NAME}`,
  });
  await connection.json(`${listPath(kind, version)}?${query}`, { signal });
}

/** A name that an object may have, and none has. */
const NO_NAME = 'resource-map-agent-waits-for-the-cache';
