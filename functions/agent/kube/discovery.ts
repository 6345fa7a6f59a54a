/** What a cluster says of itself: the kinds it serves, its version, and the identity that every cluster has. */
import type { ApiKindFacts } from '../mapping/facts.ts';
import { at, list, member, text } from '../mapping/json.ts';
import type { KubeConnection } from './connection.ts';
import { KubeApiError } from './errors.ts';

export interface ClusterSelf {
  readonly apiKinds: readonly ApiKindFacts[];
  readonly serverVersion: string | undefined;
  readonly clusterUid: string | undefined;
}

const AGGREGATED = ['v2', 'v2beta1']
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .concat('application/json')
  .join(',');

/** What may not be seen is absent. @throws KubeConnectionError where the server does not answer */
export async function discover(connection: KubeConnection, signal?: AbortSignal): Promise<ClusterSelf> {
  const [core, groups, version, namespace] = await Promise.all([
    optional(connection.json('/api', { accept: AGGREGATED, signal })),
    optional(connection.json('/apis', { accept: AGGREGATED, signal })),
    optional(connection.json('/version', { signal })),
    optional(connection.json('/api/v1/namespaces/kube-system', { signal })),
  ]);
  return {
    apiKinds: [...kindsOf(core), ...kindsOf(groups)],
    serverVersion: text(member(version, 'gitVersion')),
    clusterUid: text(at(namespace, 'metadata', 'uid')),
  };
}

async function optional(response: Promise<unknown>): Promise<unknown> {
  try {
    return await response;
  } catch (error) {
    if (error instanceof KubeApiError) return undefined;
    throw error;
  }
}

function kindsOf(discovery: unknown): readonly ApiKindFacts[] {
  const kinds = new Map<string, { group: string; kind: string; versions: string[] }>();
  for (const item of list(member(discovery, 'items'))) {
    const group = text(at(item, 'metadata', 'name')) ?? '';
    for (const version of list(member(item, 'versions'))) {
      const name = text(member(version, 'version'));
      for (const resource of list(member(version, 'resources'))) {
        const kind = text(at(resource, 'responseKind', 'kind'));
        if (name === undefined || kind === undefined) continue;
        const key = `${group}/${kind}`;
        const known = kinds.get(key) ?? { group, kind, versions: [] };
        kinds.set(key, known);
        if (!known.versions.includes(name)) known.versions.push(name);
      }
    }
  }
  return [...kinds.values()];
}
