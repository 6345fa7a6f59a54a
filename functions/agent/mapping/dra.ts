/**
 * Accelerators that DRA drivers offer: which physical devices a node has, and who holds them.
 * A GPU that is offered whole, as a VFIO function and as every partition of it is one device.
 */
import { ACCELERATOR_DRIVERS } from './accelerators.ts';
import type { ClaimFacts, DeviceFacts, DeviceTaintRuleFacts, SliceFacts } from './facts.ts';
import { compareText } from './ids.ts';
import { modelName } from './platform.ts';
import { largest } from './quantity.ts';

/** One pool of devices of one driver, as its last complete generation had it. */
export type DevicePool = readonly PlacedDevice[];

/** A device and the node that it is in, if it is in one. */
type PlacedDevice = DeviceFacts & { readonly node: string | undefined };

/** Complete views of pools, by driver and pool. */
export type DevicePools = ReadonlyMap<string, DevicePool>;

/** A physical accelerator of a node. */
export interface PhysicalDevice {
  /** New work can get it whole. */
  readonly usable: boolean;
  /** It is offered in parts only, or as what a hypervisor made of a share. */
  readonly shared: boolean;
  readonly model: string;
}

export interface DraNode {
  readonly driver: string;
  readonly devices: ReadonlyMap<string, PhysicalDevice>;
}

/** Who holds a device: the only pod of the only claim on it, or nobody that the map could name. */
export type DeviceOwner = { readonly kind: 'pod'; readonly pod: string } | { readonly kind: 'unnamed' };

export interface DraView {
  readonly nodes: ReadonlyMap<string, DraNode>;
  /** By node: each held device and its owner. */
  readonly held: ReadonlyMap<string, ReadonlyMap<string, DeviceOwner>>;
  /** Nodes with an RDMA network device. */
  readonly rdma: ReadonlySet<string>;
  /** To be remembered: a pool whose next generation is not whole yet is seen as it was. */
  readonly pools: DevicePools;
}

/** A pod, by namespace and name, as claims name it. */
export function podKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

export function draView(
  slices: readonly SliceFacts[],
  claims: readonly ClaimFacts[],
  rules: readonly DeviceTaintRuleFacts[],
  remembered: DevicePools,
  knownNodes: ReadonlySet<string>,
): DraView {
  const pools = completePools(slices, remembered);
  const nodes = new Map<string, { driver: string; devices: Map<string, PhysicalDevice> }>();
  const physicalOf = new Map<
    string,
    { readonly node: string; readonly physical: string; readonly part: boolean }
  >();
  for (const [poolId, pool] of [...pools].sort(([a], [b]) => compareText(a, b))) {
    const { driver } = splitPoolId(poolId);
    if (!ACCELERATOR_DRIVERS.has(driver)) continue;
    const wholes = pool.filter(isWhole);
    for (const device of pool) {
      if (device.node === undefined || isOther(device)) continue;
      const whole = isWhole(device) ? device : wholes.find((each) => isPartOf(device, each));
      const physical = `${poolId}/${physicalName(whole ?? device)}`;
      physicalOf.set(`${poolId}/${device.name}`, { node: device.node, physical, part: !isWhole(device) });
      const node = nodes.get(device.node) ?? { driver, devices: new Map() };
      nodes.set(device.node, node);
      // Two vendors' devices cannot be one node type: the vendor that comes first is it.
      if (node.driver !== driver) continue;
      const seen = node.devices.get(physical);
      const usable =
        isWhole(device) &&
        !isShare(device) &&
        device.healthy &&
        !device.tainted &&
        !isRuledOut(device, driver, poolId, rules);
      node.devices.set(physical, {
        usable: usable || (seen?.usable ?? false),
        shared: (seen?.shared ?? true) && (whole === undefined || isShare(whole)),
        model: seen?.model || modelName(whole?.product ?? device.product ?? ''),
      });
    }
  }
  return { nodes, held: heldDevices(claims, physicalOf, knownNodes), rdma: rdmaNodes(slices), pools };
}

/** `vfio` is the same GPU under another driver; channels and daemons are no accelerators. */
function isWhole({ type }: DeviceFacts): boolean {
  return type === undefined || type === 'gpu' || type === 'amdgpu';
}

function isPart({ type }: DeviceFacts): boolean {
  return type === 'mig' || type === 'amdgpu-partition' || type === 'vfio';
}

function isOther(device: DeviceFacts): boolean {
  return !isWhole(device) && !isPart(device);
}

function isPartOf(part: PlacedDevice, whole: PlacedDevice): boolean {
  if (part.node !== whole.node) return false;
  if (part.parentUuid !== undefined && part.parentUuid === whole.uuid) return true;
  if (part.pciBusId !== undefined && part.pciBusId === whole.pciBusId) return true;
  return part.counterSets.some((set) => whole.counterSets.includes(set));
}

/** Entries of one PCI address are one device, whatever they are called. */
function physicalName(device: DeviceFacts): string {
  if (isWhole(device)) return device.pciBusId ?? device.name;
  return device.parentUuid ?? device.pciBusId ?? device.counterSets[0] ?? device.name;
}

/** A virtual GPU, or a partition that looks like a device of its own. */
function isShare({ product, brand, partitionProfile }: DeviceFacts): boolean {
  return (
    /^GRID[ -]/i.test(product ?? '') ||
    /^Nvidia(?:VCS|VApps|VPC|RTXVWS|VWS)$/i.test(brand ?? '') ||
    (partitionProfile !== undefined && !/^spx(?:_|$)/i.test(partitionProfile))
  );
}

function isRuledOut(
  device: DeviceFacts,
  driver: string,
  poolId: string,
  rules: readonly DeviceTaintRuleFacts[],
): boolean {
  const { pool } = splitPoolId(poolId);
  return rules.some(
    (rule) =>
      (rule.driver ?? driver) === driver &&
      (rule.pool ?? pool) === pool &&
      (rule.device ?? device.name) === device.name,
  );
}

/** Neither a driver's nor a pool's name can hold a line end. */
function poolIdOf(driver: string, pool: string): string {
  return `${driver}\n${pool}`;
}

function splitPoolId(poolId: string): { readonly driver: string; readonly pool: string } {
  const end = poolId.indexOf('\n');
  return { driver: poolId.slice(0, end), pool: poolId.slice(end + 1) };
}

function completePools(slices: readonly SliceFacts[], remembered: DevicePools): DevicePools {
  const newest = new Map<string, SliceFacts[]>();
  for (const slice of slices) {
    const poolId = poolIdOf(slice.driver, slice.poolName);
    const others = newest.get(poolId) ?? [];
    const generation = others[0]?.generation ?? -1;
    if (slice.generation > generation) newest.set(poolId, [slice]);
    else if (slice.generation === generation) others.push(slice);
  }
  const pools = new Map<string, DevicePool>();
  for (const [poolId, group] of newest) {
    const expected = largest(group.map(({ sliceCount }) => sliceCount));
    const before = remembered.get(poolId);
    if (group.length >= expected) {
      group.sort((a, b) => compareText(a.name, b.name));
      pools.set(
        poolId,
        group.flatMap(({ nodeName, devices }) =>
          devices.map((device) => ({ ...device, node: device.nodeName ?? nodeName })),
        ),
      );
    } else if (before !== undefined) pools.set(poolId, before);
  }
  return pools;
}

function heldDevices(
  claims: readonly ClaimFacts[],
  physicalOf: ReadonlyMap<
    string,
    { readonly node: string; readonly physical: string; readonly part: boolean }
  >,
  knownNodes: ReadonlySet<string>,
): ReadonlyMap<string, ReadonlyMap<string, DeviceOwner>> {
  const held = new Map<string, Map<string, DeviceOwner>>();
  for (const claim of claims) {
    const [only, ...others] = new Set(claim.reservedFor);
    const owner: DeviceOwner =
      only !== undefined && others.length === 0
        ? { kind: 'pod', pod: podKey(claim.namespace, only) }
        : { kind: 'unnamed' };
    for (const { driver, pool, device, adminAccess } of claim.allocated) {
      if (adminAccess || !ACCELERATOR_DRIVERS.has(driver)) continue;
      const poolId = poolIdOf(driver, pool);
      const deviceId = `${poolId}/${device}`;
      // A device that has gone from its slice is held all the same; drivers name pools after nodes.
      const known =
        physicalOf.get(deviceId) ??
        (knownNodes.has(pool) ? { node: pool, physical: deviceId, part: false } : undefined);
      if (known === undefined) continue;
      const onNode = held.get(known.node) ?? new Map<string, DeviceOwner>();
      held.set(known.node, onNode);
      const before = onNode.get(known.physical);
      const same =
        before === undefined || (before.kind === 'pod' && owner.kind === 'pod' && before.pod === owner.pod);
      onNode.set(known.physical, same && !known.part ? owner : { kind: 'unnamed' });
    }
  }
  return held;
}

function rdmaNodes(slices: readonly SliceFacts[]): ReadonlySet<string> {
  const nodes = new Set<string>();
  for (const slice of slices) {
    for (const device of slice.devices) {
      const node = device.nodeName ?? slice.nodeName;
      if (device.rdma && node !== undefined) nodes.add(node);
    }
  }
  return nodes;
}
