/** Inventories of the wire as candidates. A number that makes no sense is refused: a plan would stand on it. */
import type * as bundleWire from '../../../gen/resourcemap/bundle/v1/bundle_pb.ts';
import type * as wire from '../../../gen/resourcemap/bundle/v1/plan_pb.ts';
import { quote } from '../../quote.ts';
import { MAX_CANDIDATES, MAX_DEVICES } from '../model/limits.ts';
import type { GpuResource, NodeInventory } from '../model/model.ts';
import type { Place } from '../model/place.ts';
import type { InventoryCandidate } from '../search/candidates.ts';
import type { Faults } from './faults.ts';
import { readCapabilities } from './read-profile.ts';
import { timeField } from './time-field.ts';

export function readCandidates(
  messages: readonly wire.CandidateNode[],
  path: string,
  faults: Faults,
): readonly InventoryCandidate[] {
  const seen = new Map<string, number>();
  return faults.atMost(path, messages, MAX_CANDIDATES).map((message, i) => {
    const at = `${path}[${i}]`;
    const key = JSON.stringify([message.clusterId, message.nodeId]);
    const before = seen.get(key);
    if (before === undefined) seen.set(key, i);
    else {
      faults.add(
        `${at}.node_id`,
        `${quote(message.nodeId)} is ${path}[${before}] already; a node of a cluster is given once.`,
      );
    }
    return readCandidate(message, at, faults);
  });
}

function readCandidate(message: wire.CandidateNode, path: string, faults: Faults): InventoryCandidate {
  const nodeId = faults.name(`${path}.node_id`, message.nodeId);
  const inventory = readInventory(message.inventory, `${path}.inventory`, faults);
  return {
    kind: 'inventory',
    nodeId,
    place: readPlace(message, inventory, path, faults),
    eligible: message.eligible ?? true,
    inventory,
  };
}

function readPlace(
  message: wire.CandidateNode,
  { gpus }: NodeInventory,
  path: string,
  faults: Faults,
): Place {
  const label = (name: string, value: string): string => faults.label(`${path}.${name}`, value);
  const model = label('accelerator_model', message.acceleratorModel);
  const models = (gpus ?? []).flatMap((gpu) => gpu.model || []);
  return {
    clusterId: label('cluster_id', message.clusterId),
    provider: label('provider', message.provider),
    region: label('region', message.region),
    zone: label('zone', message.zone),
    poolId: label('pool_id', message.poolId),
    nodeTypeId: label('node_type_id', message.nodeTypeId),
    instanceType: label('instance_type', message.instanceType),
    acceleratorModels: model === '' ? [...new Set(models)].sort() : [model],
  };
}

function readInventory(
  message: bundleWire.NodeInventory | undefined,
  path: string,
  faults: Faults,
): NodeInventory {
  if (message === undefined) {
    faults.add(path, 'It is missing; say what the node has.');
    return { totalCapacity: 0, utilizationCap: 0 };
  }
  const { utilizationCap, lastSeen, reachable, cordoned } = message;
  if (utilizationCap === undefined) {
    faults.add(
      `${path}.utilization_cap`,
      'It is missing; give the share that is safe to allocate, from 0 to 1.',
    );
  } else if (!(utilizationCap >= 0 && utilizationCap <= 1)) {
    faults.add(`${path}.utilization_cap`, `${utilizationCap} is no share; give a number from 0 to 1.`);
  }
  const amount = (name: string, value: number): number => faults.amount(`${path}.${name}`, value);
  return {
    totalCapacity: amount('total_capacity', message.totalCapacity),
    utilizationCap: utilizationCap ?? 0,
    totalCores: amount('total_cores', message.totalCores),
    gpus: readGpus(message.gpus, `${path}.gpus`, faults),
    capabilities: readCapabilities(message.capabilities, `${path}.capabilities`, faults),
    reservedCapacity: amount('reserved_capacity', message.reservedCapacity),
    reservedCores: amount('reserved_cores', message.reservedCores),
    reservedCapabilities: readCapabilities(
      message.reservedCapabilities,
      `${path}.reserved_capabilities`,
      faults,
    ),
    reachable,
    ...timeField('lastSeen', lastSeen, `${path}.last_seen`, faults),
    cordoned,
    assignedJobs: message.assignedJobs.map(({ jobId, coreSet, gpuIndex }) => ({ jobId, coreSet, gpuIndex })),
  };
}

function readGpus(
  messages: readonly bundleWire.GpuResource[],
  path: string,
  faults: Faults,
): readonly GpuResource[] {
  const seen = new Set<number>();
  return faults.atMost(path, messages, MAX_DEVICES).map((gpu, i) => {
    const { index, exclusivelyReserved } = gpu;
    const at = `${path}[${i}]`;
    if (seen.has(index)) faults.add(`${at}.index`, `${index} is given twice; every device has its own.`);
    seen.add(index);
    return {
      index,
      model: faults.label(`${at}.model`, gpu.model),
      totalCapacity: faults.amount(`${at}.total_capacity`, gpu.totalCapacity),
      reservedCapacity: faults.amount(`${at}.reserved_capacity`, gpu.reservedCapacity),
      exclusivelyReserved,
    };
  });
}
