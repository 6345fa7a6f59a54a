/** Sums over targets, by any of their properties. */
import { create } from '@bufbuild/protobuf';
import {
  type CapacityGroup,
  CapacityGroupSchema,
  GroupKey,
  type PriceRange,
  PriceRangeSchema,
} from '../../../gen/resourcemap/v1/capacity_pb.ts';
import { PurchaseModel } from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import { compareUtf8 } from '../../utf8-order.ts';
import { compareDecimals } from '../decimal.ts';
import { headroomNodes } from './headroom.ts';
import { count, type Histogram, volume } from './histogram.ts';
import { deficitOf } from './served-demand.ts';
import { ageOf, bigintsByKey, claimedOn, type DatedView, uint64 } from './target-row.ts';
import type { Price, TargetView } from './view.ts';

/** One target with the snapshot that it is of. */
export interface DatedTarget {
  readonly cluster: DatedView;
  readonly target: TargetView;
}

/** How each key reads off a target. */
const VALUES: ReadonlyMap<GroupKey, (row: DatedTarget) => string> = new Map([
  [GroupKey.CLUSTER, ({ cluster }) => cluster.view.clusterId],
  [GroupKey.PROVIDER, ({ cluster }) => cluster.view.provider],
  [GroupKey.REGION, ({ cluster }) => cluster.view.region],
  [GroupKey.SITE, ({ cluster }) => cluster.view.site],
  [GroupKey.ACCELERATOR_MODEL, ({ target }) => target.acceleratorModel],
  [GroupKey.POOL, ({ target }) => target.poolId],
  [GroupKey.NODE_TYPE, ({ target }) => target.nodeTypeId],
  [GroupKey.INSTANCE_TYPE, ({ target }) => target.instanceType],
  [GroupKey.PURCHASE_MODEL, ({ target }) => purchaseModelName(target.purchaseModel)],
  [GroupKey.ZONE, ({ target }) => target.zone],
  [GroupKey.FABRIC, ({ target }) => target.fabricId],
  [GroupKey.RDMA_READY, ({ target }) => (target.rdmaReady === undefined ? '' : String(target.rdmaReady))],
  [GroupKey.ELIGIBLE, ({ target }) => String(target.eligible)],
]);

/** Enums are open on the wire; a value that we do not know goes by its number. */
function purchaseModelName(model: PurchaseModel): string {
  const name: string | undefined = PurchaseModel[model];
  return name === undefined ? String(model) : `PURCHASE_MODEL_${name}`;
}

/** One group per combination of values that occurs, in order of the values. */
export function groupTargets(
  rows: readonly DatedTarget[],
  keys: readonly GroupKey[],
  nowNanos: bigint,
): readonly CapacityGroup[] {
  const groups = new Map<string, { readonly values: readonly string[]; readonly rows: DatedTarget[] }>();
  for (const row of rows) {
    const values = keys.map((key) => VALUES.get(key)?.(row) ?? '');
    const name = JSON.stringify(values);
    const group = groups.get(name) ?? { values, rows: [] };
    groups.set(name, group);
    group.rows.push(row);
  }
  return [...groups.values()]
    .sort((a, b) => compareLists(a.values, b.values))
    .map(({ values, rows }) =>
      create(CapacityGroupSchema, {
        values: values.map((value, index) => ({ key: keys[index] ?? GroupKey.UNSPECIFIED, value })),
        ...sums(rows, nowNanos),
      }),
    );
}

function compareLists(a: readonly string[], b: readonly string[]): number {
  for (const [index, value] of a.entries()) {
    const order = compareUtf8(value, b[index] ?? '');
    if (order !== 0) return order;
  }
  return 0;
}

function sums(rows: readonly DatedTarget[], nowNanos: bigint): Omit<CapacityGroup, '$typeName' | 'values'> {
  const targets = rows.map(({ target }) => target);
  const over = (of: (target: TargetView) => bigint): bigint =>
    uint64(targets.reduce((sum, target) => sum + of(target), 0n));
  const claimed = rows.map(({ cluster, target }) => claimedOn(cluster, target));
  const pendingNodes = sumKnown(targets.map(({ pendingNodes }) => pendingNodes));
  const byPending = sumKnown(targets.map(({ deficitServedByPending }) => deficitServedByPending));
  const headroom = sumKnown(headroomByPool(rows));
  return {
    targets: rows.length,
    nodes: over(({ occupancy }) => BigInt(occupancy.nodes)),
    idleNodes: over(({ occupancy }) => BigInt(occupancy.idleNodes)),
    ...(pendingNodes === undefined ? {} : { pendingNodes }),
    accelerators: over(({ occupancy }) => occupancy.total),
    allocated: over(({ occupancy }) => occupancy.allocated),
    external: over(({ occupancy }) => occupancy.external),
    unavailable: over(({ occupancy }) => occupancy.unavailable),
    free: over(({ occupancy }) => occupancy.free),
    freeHistogram: sumHistograms(targets.map(({ occupancy }) => occupancy.freeNodes)),
    freeHistogramAfterDemand: sumHistograms(targets.map(({ served }) => served.freeNodesAfter)),
    pendingDemand: over(({ demand }) => volume(demand.pending)),
    reservedDemand: over(({ demand }) => volume(demand.reserved)),
    deficit: over(({ demand, served }) => {
      const { pending, reserved } = deficitOf(demand, served);
      return volume(pending) + volume(reserved);
    }),
    ...(byPending === undefined ? {} : { deficitServedByPendingNodes: uint64(byPending) }),
    deficitUndecided: targets.some(({ served }) => served.undecided),
    eligibleFree: over(({ eligible, occupancy }) => (eligible ? occupancy.free : 0n)),
    ...(headroom === undefined ? {} : { headroomNodes: headroom }),
    prices: priceRanges(targets),
    unpricedTargets: targets.filter(({ price }) => price === undefined).length,
    oldestAge: ageOf(oldest(rows), nowNanos),
    claimed: uint64(claimed.reduce((sum, { pods }) => sum + volume(pods), 0n)),
    claimedPods: sumHistograms(claimed.map(({ pods }) => pods)),
    freeHistogramAfterClaims: sumHistograms(claimed.map(({ freeNodesAfter }) => freeNodesAfter)),
  };
}

function oldest(rows: readonly DatedTarget[]): bigint {
  return (
    rows.reduce<bigint | undefined>(
      (first, { cluster }) =>
        first === undefined || cluster.collectedAtNanos < first ? cluster.collectedAtNanos : first,
      undefined,
    ) ?? 0n
  );
}

/** A sum of which one part is unknown is unknown. */
function sumKnown(values: readonly (number | bigint | undefined)[]): bigint | undefined {
  let sum = 0n;
  for (const value of values) {
    if (value === undefined) return undefined;
    sum += BigInt(value);
  }
  return sum;
}

/** For each pool its nodes still to come, once, whichever of the group's node types they would be. */
function headroomByPool(rows: readonly DatedTarget[]): readonly (number | undefined)[] {
  const pools = new Map<string, number | undefined>();
  for (const { cluster, target } of rows) {
    const name = JSON.stringify([cluster.view.clusterId, target.poolId]);
    const nodes = headroomNodes(target.headroom, target.acceleratorsPerNode);
    const before = pools.get(name);
    if (!pools.has(name)) pools.set(name, nodes);
    else pools.set(name, before === undefined || nodes === undefined ? undefined : Math.max(before, nodes));
  }
  return [...pools.values()];
}

function sumHistograms(histograms: readonly Histogram[]): Record<number, bigint> {
  const sum = new Map<number, number>();
  for (const histogram of histograms) for (const [size, nodes] of histogram) count(sum, size, nodes);
  return bigintsByKey(sum);
}

function priceRanges(targets: readonly TargetView[]): PriceRange[] {
  const ranges = new Map<string, { low: Price; high: Price }>();
  for (const { price } of targets) {
    if (price === undefined) continue;
    const range = ranges.get(price.currency) ?? { low: price, high: price };
    ranges.set(price.currency, {
      low: compareDecimals(price.amount, range.low.amount) < 0 ? price : range.low,
      high: compareDecimals(price.amount, range.high.amount) > 0 ? price : range.high,
    });
  }
  return [...ranges]
    .sort(([a], [b]) => compareUtf8(a, b))
    .map(([currencyCode, { low, high }]) =>
      create(PriceRangeSchema, {
        currencyCode,
        lowestDecimalAmount: low.text,
        highestDecimalAmount: high.text,
      }),
    );
}
