/** Where a pod that has no node yet would go: the node types that its selectors and tolerations allow. */
import { closedReason } from './availability.ts';
import type { NodeFacts, PodPlacement, SelectorExpression, Toleration } from './facts.ts';
import { compareText } from './ids.ts';
import type { NodeType } from './node-types.ts';

/**
 * The first node type by id that fits, or nothing where none does.
 *
 * @param devices that the pod asks for
 * @param resources that it asks for by name; none where it asks by claim
 */
export function firstFit(
  types: Iterable<NodeType>,
  devices: number,
  placement: PodPlacement | undefined,
  resources: ReadonlySet<string>,
): NodeType | undefined {
  let best: NodeType | undefined;
  for (const type of types) {
    if (!takes(type, devices) || (best !== undefined && order(best, type) <= 0)) continue;
    const [first] = type.nodes;
    if (first !== undefined && resources.size > 0 && !resources.has(first.resource)) continue;
    if (placement === undefined || type.nodes.some(({ node }) => allows(placement, node))) best = type;
  }
  return best;
}

/** Whether a pod of so many devices fits on an empty node of the type. */
export function takes(type: NodeType, devices: number): boolean {
  return !type.shared && devices >= 1 && devices <= type.per;
}

function order(a: NodeType, b: NodeType): number {
  return compareText(a.poolId, b.poolId) || compareText(a.id, b.id);
}

/** A node that is closed for the moment is of its type all the same: only its own fences count. */
function allows({ nodeSelector, terms, tolerations }: PodPlacement, node: NodeFacts): boolean {
  for (const [key, value] of Object.entries(nodeSelector)) if (labelOf(node, key) !== value) return false;
  if (
    terms.length > 0 &&
    !terms.some(
      ({ expressions }) => expressions.length > 0 && expressions.every((each) => matches(each, node)),
    )
  )
    return false;
  return !fenced(node, tolerations);
}

function fenced(node: NodeFacts, tolerations: readonly Toleration[]): boolean {
  const fences = node.taints.filter(({ key }) => !key.startsWith('node.kubernetes.io/'));
  const reason = closedReason(
    { ...node, taints: fences, unschedulable: false, deleting: false, readiness: 'ready' },
    tolerations,
    [],
  );
  return reason !== undefined;
}

function matches({ key, operator, values }: SelectorExpression, node: NodeFacts): boolean {
  const value = labelOf(node, key);
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return value !== undefined && Number(value) > Number(values[0]);
    case 'Lt':
      return value !== undefined && Number(value) < Number(values[0]);
    default:
      return false;
  }
}

function labelOf(node: NodeFacts, key: string): string | undefined {
  return Object.hasOwn(node.labels, key) ? node.labels[key] : undefined;
}
