/** Pools as a person reads them. */
import type { NodeSelector, StoredPool, Tier } from '../gen/resourcemap/bundle/v1/pool_pb.ts';
import { table } from '../terminal/table.ts';

/** A line for each pool. */
export function poolTable(pools: readonly StoredPool[]): string {
  return table(
    [{ title: 'POOL' }, { title: 'TIERS' }, { title: 'ETAG' }],
    pools.map(({ pool, etag }) => [
      pool?.poolName ?? '',
      (pool?.tiers ?? []).map((tier, i) => tier.tierName || String(i)).join(' > '),
      etag,
    ]),
  );
}

/** A line for each tier of one pool, in the order in which they are used up. */
export function tierTable(tiers: readonly Tier[]): string {
  return table(
    [{ title: 'TIER' }, { title: 'KIND' }, { title: 'NODES' }],
    tiers.map(({ tierName, source }, i) => [
      tierName === '' ? String(i) : `${i} ${tierName}`,
      source.case ?? '-',
      source.case === 'elastic'
        ? [
            ...(source.value.provider === '' ? [] : [`provider ${source.value.provider}`]),
            `one of ${source.value.instanceTypes.map(({ instanceType }) => instanceType).join(', ')}`,
          ].join('; ')
        : selectorText(source.value),
    ]),
  );
}

const SELECTOR_FIELDS = [
  ['provider', 'provider'],
  ['region', 'region'],
  ['clusterId', 'cluster'],
  ['poolId', 'capacity pool'],
  ['nodeTypeId', 'node type'],
  ['acceleratorModel', 'accelerator model'],
] as const;

function selectorText(selector: NodeSelector | undefined): string {
  const conditions = SELECTOR_FIELDS.flatMap(([field, title]) => {
    const values = selector?.[field] ?? [];
    return values.length === 0 ? [] : [`${title} ${values.join(' or ')}`];
  });
  return conditions.join('; ') || 'every node of the map';
}
