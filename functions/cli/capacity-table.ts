/** What is left as tables that a person reads: sums, and what they hide, node by node. */
import type { CapacityGroup, PriceRange, TargetCapacity } from '../gen/resourcemap/v1/capacity_pb.ts';
import { ageText } from '../terminal/age.ts';
import { type Column, table } from '../terminal/table.ts';

const COUNTS: readonly Column[] = [
  { title: 'NODES', align: 'right' },
  { title: 'IDLE', align: 'right' },
  { title: 'FREE/TOTAL', align: 'right' },
  { title: 'DEMAND', align: 'right' },
  { title: 'DEFICIT', align: 'right' },
  { title: 'HEADROOM', align: 'right' },
];

/** One line a node type. Node types without accelerators are left out; `--json` has them. */
export function targetTable(targets: readonly TargetCapacity[]): string {
  const shown = targets.filter(({ acceleratorsPerNode }) => acceleratorsPerNode > 0);
  if (shown.length === 0) return 'No node type with accelerators meets the filter.';
  return table(
    [
      { title: 'CLUSTER' },
      { title: 'POOL' },
      { title: 'NODE TYPE' },
      { title: 'MODEL' },
      ...COUNTS,
      { title: 'PRICE/H', align: 'right' },
      { title: 'COLLECTED AGO', align: 'right' },
      { title: 'FREE ON A NODE (free×nodes)' },
    ],
    shown.map((target) => [
      target.clusterId,
      target.poolId,
      target.eligible ? target.nodeTypeId : `${target.nodeTypeId} (takes no new work)`,
      `${target.acceleratorsPerNode} ${target.acceleratorModel || '(no model)'}`,
      ...counts(target),
      target.pricePerNodeHour === undefined
        ? '?'
        : `${target.pricePerNodeHour.decimalAmount} ${target.pricePerNodeHour.currencyCode}`,
      ageText(target.age),
      freeText(histogram(target.freeHistogram), target.acceleratorsPerNode),
    ]),
  );
}

/** One line a group. */
export function groupTable(groups: readonly CapacityGroup[], titles: readonly string[]): string {
  if (groups.length === 0) return 'No node type meets the filter.';
  return table(
    [
      ...titles.map((title) => ({ title })),
      ...COUNTS,
      { title: 'PRICE/H', align: 'right' },
      { title: 'OLDEST COLLECTED AGO', align: 'right' },
      { title: 'FREE ON A NODE (free×nodes)' },
    ],
    groups.map((group) => [
      ...group.values.map(({ value }) => value || '-'),
      ...counts(group),
      priceText(group.prices, group.unpricedTargets),
      ageText(group.oldestAge),
      freeText(histogram(group.freeHistogram), Math.max(0, ...Object.keys(group.freeHistogram).map(Number))),
    ]),
  );
}

/** What targets and groups have in common. */
interface Counted {
  readonly nodes: number | bigint;
  readonly idleNodes: number | bigint;
  readonly free: bigint;
  readonly accelerators: bigint;
  readonly pendingDemand: bigint;
  readonly reservedDemand: bigint;
  readonly deficit: bigint;
  readonly deficitUndecided: boolean;
  readonly deficitServedByPendingNodes?: bigint | undefined;
  readonly headroomNodes?: bigint | undefined;
}

function counts(of: Counted): readonly string[] {
  const demand = [
    of.pendingDemand > 0n ? `${of.pendingDemand}` : '',
    of.reservedDemand > 0n ? `${of.reservedDemand} reserved` : '',
  ].filter((part) => part !== '');
  return [
    String(of.nodes),
    String(of.idleNodes),
    `${of.free}/${of.accelerators}`,
    demand.join(' + ') || '-',
    of.deficit === 0n
      ? '-'
      : `${of.deficit}${of.deficitUndecided ? ' (undecided)' : ''}${coming(of.deficitServedByPendingNodes)}`,
    of.headroomNodes === undefined ? '?' : String(of.headroomNodes),
  ];
}

/** What of a deficit the nodes on their way will serve. */
function coming(served: bigint | undefined): string {
  return served === undefined || served === 0n ? '' : ` (${served} served by nodes on their way)`;
}

function priceText(prices: readonly PriceRange[], unpriced: number): string {
  const ranges = prices.map(({ currencyCode, lowestDecimalAmount, highestDecimalAmount }) =>
    lowestDecimalAmount === highestDecimalAmount
      ? `${lowestDecimalAmount} ${currencyCode}`
      : `${lowestDecimalAmount}–${highestDecimalAmount} ${currencyCode}`,
  );
  return [...ranges, ...(unpriced > 0 ? ['?'] : [])].join(', ');
}

function histogram(map: Readonly<Record<number, number | bigint>>): readonly (readonly [number, number])[] {
  return Object.entries(map)
    .map(([free, nodes]) => [Number(free), Number(nodes)] as const)
    .sort(([a], [b]) => b - a);
}

/** A column for each number of free accelerators up to these; on larger nodes a bar says less than the numbers. */
const MAX_BAR_COLUMNS = 16;

/** Numbers of free accelerators written out. */
const SIZES_SHOWN = 4;

/** A bar with a column for 1, 2, … free accelerators, as high as there are nodes, and the largest as numbers. */
function freeText(free: readonly (readonly [number, number])[], perNode: number): string {
  if (free.length === 0) return 'none';
  const numbers = free.slice(0, SIZES_SHOWN).map(([size, nodes]) => `${size}×${nodes}`);
  if (free.length > SIZES_SHOWN) numbers.push('…');
  const bar = perNode <= MAX_BAR_COLUMNS ? `${freeBar(free, perNode)} ` : '';
  return bar + numbers.join(' ');
}

const HEIGHTS = '▁▂▃▄▅▆▇█';

/** @param free free accelerators on a node, and the number of such nodes */
export function freeBar(free: readonly (readonly [number, number])[], perNode: number): string {
  const nodes = new Map(free);
  const highest = Math.max(...nodes.values());
  return Array.from({ length: perNode }, (_, index) => {
    const here = nodes.get(index + 1) ?? 0;
    // Whatever is there at all shows.
    return here === 0 ? '·' : HEIGHTS[Math.max(0, Math.ceil((here / highest) * HEIGHTS.length) - 1)];
  }).join('');
}
