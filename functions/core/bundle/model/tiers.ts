/** Pools: which tier a node stands in, and what the instance types of elastic tiers offer. */
import type { InstanceCatalogue } from './catalogue.ts';
import type { NodeProfile, NodeSelector, Pool, PoolKind, Tier } from './model.ts';
import type { Place } from './place.ts';

/** A pool that nodes can be asked of. */
export interface CompiledPool {
  readonly name: string;
  readonly tiers: readonly Tier[];
  /** The first tier that the node stands in, from 0; nothing where it stands in none. */
  tierOf(place: Place): number | undefined;
}

/** The pools by name. Of two with one name the first decides. */
export function compilePools(pools: readonly Pool[]): ReadonlyMap<string, CompiledPool> {
  const compiled = new Map<string, CompiledPool>();
  for (const pool of pools) {
    if (!compiled.has(pool.poolName)) compiled.set(pool.poolName, compilePool(pool));
  }
  return compiled;
}

export function compilePool(pool: Pool): CompiledPool {
  const accepts = pool.tiers.map(tierMatcher);
  // All slots of a node type share one place, and every job of every bundle asks again.
  const known = new Map<Place, number>();
  return {
    name: pool.poolName,
    tiers: pool.tiers,
    tierOf(place) {
      let tier = known.get(place);
      if (tier === undefined) {
        tier = accepts.findIndex((accept) => accept(place));
        known.set(place, tier);
      }
      return tier === -1 ? undefined : tier;
    },
  };
}

/** `cluster` if any tier is: then a node can still join. */
export function poolKind(pool: Pool): PoolKind {
  return pool.tiers.some((tier) => tier.cluster !== undefined) ? 'cluster' : 'elastic';
}

/** What a new node of each instance type of the pool's elastic tiers offers. */
export function elasticProfiles(
  pool: Pick<Pool, 'tiers'>,
  catalogue: InstanceCatalogue,
): readonly { readonly tier: number; readonly instanceType: string; readonly profile: NodeProfile }[] {
  return pool.tiers.flatMap((tier, index) =>
    (tier.elastic?.instanceTypes ?? []).map(({ instanceType, profile }) => {
      const facts = catalogue.get(instanceType);
      return {
        tier: index,
        instanceType,
        profile: {
          ...profile,
          totalCapacity: profile?.totalCapacity ?? facts?.totalCapacity,
          totalCores: profile?.totalCores ?? facts?.totalCores,
        },
      };
    }),
  );
}

type Accept = (place: Place) => boolean;

function tierMatcher(tier: Tier): Accept {
  if (tier.cluster !== undefined) return selectorMatcher(tier.cluster);
  const { provider = '', instanceTypes } = tier.elastic;
  const types = new Set(instanceTypes.map((t) => t.instanceType));
  return (place) => types.has(place.instanceType) && (provider === '' || place.provider === provider);
}

/** A selector as a predicate over places. */
export function selectorMatcher(selector: NodeSelector): Accept {
  const conditions = [
    among(selector.provider, (p) => [p.provider]),
    among(selector.region, (p) => [p.region]),
    among(selector.clusterId, (p) => [p.clusterId]),
    among(selector.poolId, (p) => [p.poolId]),
    among(selector.nodeTypeId, (p) => [p.nodeTypeId]),
    among(selector.acceleratorModel, (p) => p.acceleratorModels),
  ];
  return (place) => conditions.every((holds) => holds(place));
}

function among(values: readonly string[] | undefined, of: (place: Place) => readonly string[]): Accept {
  if (values === undefined || values.length === 0) return () => true;
  const accepted = new Set(values);
  return (place) => of(place).some((value) => accepted.has(value));
}
