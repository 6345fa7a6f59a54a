/** What nodes and kinds of nodes offer: capabilities, profiles and the descriptors that hold them. */
import type * as wire from '../../../gen/resourcemap/bundle/v1/bundle_pb.ts';
import { MAX_CAPABILITIES, MAX_DEVICES, MAX_PROFILES } from '../model/limits.ts';
import type { Capability, NodeProfile, PoolDescriptor } from '../model/model.ts';
import type { Faults } from './faults.ts';

const KINDS = ['elastic', 'cluster'] as const;

/** A pool as the request describes it. Amounts are left as they are: what offers NaN offers nothing. */
export function readDescriptor(message: wire.PoolDescriptor, path: string, faults: Faults): PoolDescriptor {
  const at = `${path}.node_profiles`;
  return {
    poolName: faults.label(`${path}.pool_name`, message.poolName),
    kind: faults.word(`${path}.kind`, message.kind, KINDS),
    nodeProfiles: faults
      .atMost(at, message.nodeProfiles, MAX_PROFILES)
      .map((profile, i) => readProfile(profile, `${at}[${i}]`, faults)),
    clouds: message.clouds,
  };
}

export function readProfile(profile: wire.NodeProfile, path: string, faults: Faults): NodeProfile {
  const { totalCapacity, totalCores, capabilities, gpus } = profile;
  return {
    ...(totalCapacity === undefined ? {} : { totalCapacity }),
    ...(totalCores === undefined ? {} : { totalCores }),
    capabilities: readCapabilities(capabilities, `${path}.capabilities`, faults),
    gpus: faults.atMost(`${path}.gpus`, gpus, MAX_DEVICES).map((gpu, i) => ({
      model: faults.label(`${path}.gpus[${i}].model`, gpu.model),
      totalCapacity: faults.amount(`${path}.gpus[${i}].total_capacity`, gpu.totalCapacity),
    })),
  };
}

export function readCapabilities(
  capabilities: readonly wire.Capability[],
  path: string,
  faults: Faults,
): readonly Capability[] {
  return faults.atMost(path, capabilities, MAX_CAPABILITIES).map(({ name, count, attributes }, i) => ({
    name: faults.label(`${path}[${i}].name`, name),
    count: faults.amount(`${path}[${i}].count`, count),
    attributes: faults.attributes(`${path}[${i}].attributes`, attributes),
  }));
}
