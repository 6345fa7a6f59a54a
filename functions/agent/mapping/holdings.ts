/** What each node's devices are held by: pods that are bound there, and claims. */
import { holdingOf } from './accelerators.ts';
import { type DraView, podKey } from './dra.ts';
import type { PodFacts } from './facts.ts';
import type { TypedNode } from './node-types.ts';

/** What one pod has on the node that it is bound to. */
export interface PodHolding {
  readonly pod: PodFacts;
  /** Devices that are its own. */
  readonly devices: number;
}

export interface NodeHoldings {
  /** By pod; those that have no device of their own are not listed. */
  readonly pods: ReadonlyMap<string, PodHolding>;
  /** Devices held that no pod has for itself: shares, and claims of nobody or of several. */
  readonly unnamed: number;
}

const NOTHING: NodeHoldings = { pods: new Map(), unnamed: 0 };

export interface Holdings {
  onNode(name: string): NodeHoldings;
  /** The node of a pod that is bound, or whose claim was given devices there; it need not be known. */
  nodeOf(pod: PodFacts): string | undefined;
}

/** Whether the scheduler still counts a pod. */
export function isEnded({ phase }: PodFacts): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

export function holdingsOf(
  pods: readonly PodFacts[],
  nodes: ReadonlyMap<string, TypedNode>,
  dra: DraView,
): Holdings {
  const claimed = claimedNodes(dra);
  const nodeOf = (pod: PodFacts) => pod.nodeName ?? claimed.get(podKey(pod.namespace, pod.name));

  const byNode = new Map<string, { pods: Map<string, PodHolding>; unnamed: number }>();
  const entry = (name: string) => {
    const found = byNode.get(name) ?? { pods: new Map<string, PodHolding>(), unnamed: 0 };
    byNode.set(name, found);
    return found;
  };

  const named = new Map<string, number>();
  for (const pod of pods) {
    const name = nodeOf(pod);
    const node = name === undefined ? undefined : nodes.get(name);
    if (name === undefined || node === undefined || isEnded(pod)) continue;
    const key = podKey(pod.namespace, pod.name);
    const ofClaims = devicesOwnedBy(key, name, dra);
    named.set(name, (named.get(name) ?? 0) + ofClaims);
    const requested = requestsHold(pod, node, ofClaims)
      ? holdingOf(node.resource, pod.requests)
      : { whole: 0, shared: 0 };
    const holdings = entry(name);
    holdings.unnamed += requested.shared;
    const devices = requested.whole + ofClaims;
    if (devices > 0) holdings.pods.set(key, { pod, devices });
  }
  for (const [name, devices] of dra.held) {
    const rest = devices.size - (named.get(name) ?? 0);
    if (rest > 0) entry(name).unnamed += rest;
  }
  return { onNode: (name) => byNode.get(name) ?? NOTHING, nodeOf };
}

/** A request that a DRA driver serves holds what its claim was given, and nothing by itself. */
function requestsHold(pod: PodFacts, { node, resource }: TypedNode, ofClaims: number): boolean {
  if (pod.extendedResourceClaim !== undefined) return false;
  return ofClaims === 0 || (node.capacity[resource] ?? 0) > 0;
}

function claimedNodes(dra: DraView): ReadonlyMap<string, string> {
  const nodes = new Map<string, string>();
  for (const [name, devices] of dra.held) {
    for (const owner of devices.values()) if (owner.kind === 'pod') nodes.set(owner.pod, name);
  }
  return nodes;
}

function devicesOwnedBy(pod: string, node: string, dra: DraView): number {
  let count = 0;
  for (const owner of dra.held.get(node)?.values() ?? [])
    if (owner.kind === 'pod' && owner.pod === pod) count++;
  return count;
}
