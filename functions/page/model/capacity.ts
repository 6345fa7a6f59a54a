/** Sums and shapes of what is free. */
import type { CapacityGroup, Histogram } from '../api/types.ts';

/** Bins of a histogram, the most free accelerators first. */
export function bins(histogram: Histogram): readonly { readonly free: number; readonly nodes: number }[] {
  return Object.entries(histogram)
    .map(([free, nodes]) => ({ free: Number(free), nodes: Number(nodes) }))
    .sort((a, b) => b.free - a.free);
}

/** The most free accelerators on any one node; 0 if none has any. */
export function largestBlock(histogram: Histogram): number {
  return bins(histogram)[0]?.free ?? 0;
}

export interface RegionRow {
  readonly region: string;
  readonly free: bigint;
  readonly total: bigint;
  readonly unavailable: bigint;
  readonly eligibleFree: bigint;
  readonly pending: bigint;
  readonly deficit: bigint;
  readonly idleNodes: bigint;
  /** After pending and reserved pods and claims were placed. */
  readonly largestBlock: number;
  readonly claimed: bigint;
}

export interface ModelRows {
  readonly model: string;
  readonly sum: Omit<RegionRow, 'region'>;
  readonly regions: readonly RegionRow[];
}

/**
 * Groups by model and region as rows, in the order of the service. Nodes without accelerators
 * are left out; a model of which there is no node at the moment is not.
 */
export function modelRows(groups: readonly CapacityGroup[]): readonly ModelRows[] {
  const models = new Map<string, RegionRow[]>();
  for (const group of groups) {
    const model = keyValue(group, 'GROUP_KEY_ACCELERATOR_MODEL');
    if (model === '' && BigInt(group.accelerators) === 0n) continue;
    const rows = models.get(model) ?? [];
    models.set(model, rows);
    rows.push(regionRow(group));
  }
  return [...models].map(([model, regions]) => ({ model, regions, sum: sumOf(regions) }));
}

function regionRow(group: CapacityGroup): RegionRow {
  return {
    region: keyValue(group, 'GROUP_KEY_REGION'),
    free: BigInt(group.free),
    total: BigInt(group.accelerators),
    unavailable: BigInt(group.unavailable),
    eligibleFree: BigInt(group.eligibleFree),
    pending: BigInt(group.pendingDemand),
    deficit: BigInt(group.deficit),
    idleNodes: BigInt(group.idleNodes),
    largestBlock: largestBlock(group.freeHistogramAfterClaims),
    claimed: BigInt(group.claimed),
  };
}

function sumOf(rows: readonly RegionRow[]): Omit<RegionRow, 'region'> {
  const over = (of: (row: RegionRow) => bigint): bigint => rows.reduce((sum, row) => sum + of(row), 0n);
  return {
    free: over((row) => row.free),
    total: over((row) => row.total),
    unavailable: over((row) => row.unavailable),
    eligibleFree: over((row) => row.eligibleFree),
    pending: over((row) => row.pending),
    deficit: over((row) => row.deficit),
    idleNodes: over((row) => row.idleNodes),
    largestBlock: Math.max(0, ...rows.map((row) => row.largestBlock)),
    claimed: over((row) => row.claimed),
  };
}

function keyValue(group: CapacityGroup, key: string): string {
  return group.values.find((each) => each.key === key)?.value ?? '';
}
