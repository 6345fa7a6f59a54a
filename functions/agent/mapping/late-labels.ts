/**
 * Labels that a platform will give a node, before it has. Google names nodes after their
 * instance group, so a node whose labels are not there yet gets those that all labelled nodes
 * of its instance group share: it would change its pool a minute later otherwise.
 */
import type { Labels, NodeFacts } from './facts.ts';

const POOL_LABEL = 'cloud.google.com/gke-nodepool';
const PLATFORM_PREFIX = 'cloud.google.com/';
/** `gke-CLUSTER-POOL-HASH-xxxx`; the hash is the instance group's. */
const NODE_NAME = /^(gke-.+-[0-9a-f]{8})-[a-z0-9]{4}$/;

export function withLateLabels(nodes: readonly NodeFacts[]): readonly NodeFacts[] {
  const shared = new Map<string, Record<string, string>>();
  for (const { name, labels } of nodes) {
    const group = NODE_NAME.exec(name)?.[1];
    if (group === undefined || !Object.hasOwn(labels, POOL_LABEL)) continue;
    const known = shared.get(group);
    if (known === undefined) shared.set(group, platformLabels(labels));
    else for (const [key, value] of Object.entries(known)) if (labels[key] !== value) delete known[key];
  }
  if (shared.size === 0) return nodes;
  return nodes.map((node) => {
    const late = Object.hasOwn(node.labels, POOL_LABEL)
      ? undefined
      : shared.get(NODE_NAME.exec(node.name)?.[1] ?? '');
    return late === undefined ? node : { ...node, labels: { ...late, ...node.labels } };
  });
}

function platformLabels(labels: Labels): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => key.startsWith(PLATFORM_PREFIX)));
}
