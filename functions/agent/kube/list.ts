/** Lists in pages, so that no more than one page of whole objects is in memory. */
import { at, list, member, text } from '../mapping/json.ts';
import type { KubeConnection } from './connection.ts';
import { KubeApiError } from './errors.ts';
import { listPath, type WatchedKind } from './kinds.ts';

/** Five hundred pods are some 8 MB. */
const PAGE_SIZE = 500;

export interface Listing {
  /** The state that was listed: watches go on from here. */
  readonly resourceVersion: string;
  /** The version of the API that has the kind. */
  readonly version: string;
}

/**
 * Hands every object of a kind to a function.
 *
 * @returns nothing where the kind is optional, and is not there or not to be seen
 */
export async function listObjects<T>(
  connection: KubeConnection,
  kind: WatchedKind<T>,
  use: (object: unknown) => void,
  signal?: AbortSignal,
): Promise<Listing | undefined> {
  for (const version of kind.versions) {
    try {
      return { version, resourceVersion: await listVersion(connection, kind, version, use, signal) };
    } catch (error) {
      if (!(error instanceof KubeApiError) || !error.absent) throw error;
      if (kind.required) throw error;
    }
  }
  return undefined;
}

async function listVersion<T>(
  connection: KubeConnection,
  kind: WatchedKind<T>,
  version: string,
  use: (object: unknown) => void,
  signal: AbortSignal | undefined,
): Promise<string> {
  let next: string | undefined;
  for (;;) {
    const query = new URLSearchParams({ limit: String(PAGE_SIZE) });
    if (kind.single !== undefined) query.set('fieldSelector', `metadata.name=${kind.single.name}`);
    if (next !== undefined) query.set('continue', next);
    const page = await connection.json(`${listPath(kind, version)}?${query}`, { signal });
    for (const object of list(member(page, 'items'))) use(object);
    next = text(at(page, 'metadata', 'continue'));
    if (next === undefined) return text(at(page, 'metadata', 'resourceVersion')) ?? '';
  }
}
