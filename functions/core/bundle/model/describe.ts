/** How needs stand in messages. */
import { quote } from '../../quote.ts';
import type { DeviceNeed } from './devices.ts';
import type { CapabilityRequirement } from './model.ts';
import type { Place } from './place.ts';

/** More names than this say nothing more to a reader. */
const MAX_LISTED = 8;
const MAX_ATTRIBUTES = 5;

/** `"a", "b" and 3 more`. */
export function listNames(names: readonly string[]): string {
  const shown = names.slice(0, MAX_LISTED).map(quote).join(', ');
  const more = names.length - MAX_LISTED;
  return more > 0 ? `${shown} and ${more} more` : shown;
}

/** `2 × "norsk.io/st2110-nic" with "linkSpeed" = "100G"`. */
export function describeRequirement(requirement: CapabilityRequirement): string {
  const asked = Object.entries(requirement.attributeMatches ?? {});
  return `${requirement.count} × ${quote(requirement.name)}${describeAttributes(' with ', asked)}`;
}

/** The named attributes as they are offered, or as absent. */
export function describeAttributes(
  lead: string,
  attributes: readonly (readonly [name: string, value: string | undefined])[],
): string {
  if (attributes.length === 0) return '';
  const shown = attributes
    .slice(0, MAX_ATTRIBUTES)
    .map(([name, value]) => (value === undefined ? `no ${quote(name)}` : `${quote(name)} = ${quote(value)}`));
  const more = attributes.length - shown.length;
  return `${lead}${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** `0.5 of one "A10" device`, `2 whole devices`. */
export function describeDevice(need: DeviceNeed): string {
  const model = need.model === '' ? '' : ` ${quote(need.model)}`;
  if (need.kind === 'share') {
    return need.amount.isPositive ? `${need.amount} of one${model} device` : `one${model} device`;
  }
  const size = need.atLeast.isPositive ? ` of capacity ${need.atLeast}` : '';
  return `${need.count} whole${model} device${need.count === 1 ? '' : 's'}${size}`;
}

/** `1 node`, `12 nodes`. */
export function countNodes(count: number): string {
  return count === 1 ? '1 node' : `${count} nodes`;
}

/** `node type "h100" of pool "p" of cluster "c"`. */
export function describeNodeType({ clusterId, poolId, nodeTypeId }: Place): string {
  return `node type ${quote(nodeTypeId)} of capacity pool ${quote(poolId)} of cluster ${quote(clusterId)}`;
}
