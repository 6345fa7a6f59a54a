/** Pools of the wire and of the store as the vocabulary of `model.ts`. */
import type * as bundleWire from '../../../gen/resourcemap/bundle/v1/bundle_pb.ts';
import type * as wire from '../../../gen/resourcemap/bundle/v1/pool_pb.ts';
import { MAX_PROFILES, MAX_SELECTOR_VALUES, MAX_TIERS } from '../model/limits.ts';
import type { ElasticTier, NodeProfile, NodeSelector, Pool, Tier } from '../model/model.ts';
import { Faults } from './faults.ts';
import { readProfile } from './read-profile.ts';

const SELECTOR_FIELDS = [
  ['provider', 'provider'],
  ['region', 'region'],
  ['clusterId', 'cluster_id'],
  ['poolId', 'pool_id'],
  ['nodeTypeId', 'node_type_id'],
  ['acceleratorModel', 'accelerator_model'],
] as const;

/**
 * A pool on its own.
 *
 * @throws ResourceMapError `invalid_bundle_request`
 */
export function readOnePool(message: wire.Pool): Pool {
  const faults = new Faults();
  const pool = readPool(message, 'pool', faults);
  faults.throwIfAny();
  return pool;
}

/** A pool that can be planned on: it has a name, and tiers that say what is in them. */
export function readPool(message: wire.Pool, path: string, faults: Faults): Pool {
  const at = `${path}.tiers`;
  if (message.tiers.length === 0) faults.add(at, 'It is empty; give at least one tier, cluster or elastic.');
  const tiers = faults.atMost(at, message.tiers, MAX_TIERS);
  const types = tiers.reduce((sum, { source }) => sum + instanceTypesOf(source), 0);
  if (types > MAX_PROFILES) {
    faults.add(at, `There are ${types} instance types in all; at most ${MAX_PROFILES} are taken.`);
  }
  return {
    poolName: faults.name(`${path}.pool_name`, message.poolName),
    tiers: tiers.flatMap((tier, i) => readTier(tier, `${at}[${i}]`, faults) ?? []),
  };
}

function instanceTypesOf(source: wire.Tier['source']): number {
  return source.case === 'elastic' ? source.value.instanceTypes.length : 0;
}

function readTier(tier: wire.Tier, path: string, faults: Faults): Tier | undefined {
  const { source } = tier;
  const tierName = faults.label(`${path}.tier_name`, tier.tierName);
  switch (source.case) {
    case 'cluster':
      return { tierName, cluster: readSelector(source.value, `${path}.cluster`, faults) };
    case 'elastic':
      return { tierName, elastic: readElastic(source.value, `${path}.elastic`, faults) };
    case undefined:
      faults.add(path, 'It says nothing; give cluster (an empty one takes every node) or elastic.');
      return undefined;
  }
}

function readSelector(selector: wire.NodeSelector, path: string, faults: Faults): NodeSelector {
  for (const [field, name] of SELECTOR_FIELDS) {
    const values = faults.atMost(`${path}.${name}`, selector[field], MAX_SELECTOR_VALUES);
    const empty = values.indexOf('');
    if (empty !== -1) {
      faults.add(
        `${path}.${name}[${empty}]`,
        'It is empty, and what is not known is never selected; leave it out.',
      );
    }
  }
  const { provider, region, clusterId, poolId, nodeTypeId, acceleratorModel } = selector;
  return { provider, region, clusterId, poolId, nodeTypeId, acceleratorModel };
}

function readElastic(
  { provider, instanceTypes }: wire.ElasticTier,
  path: string,
  faults: Faults,
): ElasticTier {
  const at = `${path}.instance_types`;
  if (instanceTypes.length === 0) faults.add(at, 'It is empty; name at least one instance type.');
  return {
    provider: faults.label(`${path}.provider`, provider),
    instanceTypes: faults.atMost(at, instanceTypes, MAX_PROFILES).map(({ instanceType, profile }, i) => ({
      instanceType: faults.name(`${at}[${i}].instance_type`, instanceType),
      ...(profile === undefined
        ? {}
        : { profile: configuredProfile(profile, `${at}[${i}].profile`, faults) }),
    })),
  };
}

/** A profile that somebody configures is one that somebody can fix, so its amounts must be such. */
function configuredProfile(profile: bundleWire.NodeProfile, path: string, faults: Faults): NodeProfile {
  const read = readProfile(profile, path, faults);
  if (read.totalCapacity !== undefined) faults.amount(`${path}.total_capacity`, read.totalCapacity);
  if (read.totalCores !== undefined) faults.amount(`${path}.total_cores`, read.totalCores);
  return read;
}
