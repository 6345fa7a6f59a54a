/** What the clusters in the map have, by model and region, for deployments that watch it in CloudWatch. */
import type { Telemetry } from '../../runtime/telemetry.ts';
import type { Head } from '../../storage/head.ts';

/** Pairs of a model and a region that have metrics, the largest: each pair costs three metrics a month. */
export const MAX_PAIRS = 50;

export interface PairTotals {
  readonly model: string;
  readonly region: string;
  readonly total: number;
  readonly free: number;
  readonly unavailable: number;
}

/** Sums over heads in the map, the largest first, ties by name. Models that a head has no room for are in none. */
export function totalsByPair(
  heads: readonly Pick<Head, 'accelerators' | 'identity'>[],
): readonly PairTotals[] {
  const pairs = new Map<string, PairTotals>();
  for (const { accelerators, identity } of heads) {
    const region = dimension(identity.region);
    for (const each of accelerators) {
      const model = dimension(each.model);
      const key = JSON.stringify([model, region]);
      const sum = pairs.get(key) ?? { model, region, total: 0, free: 0, unavailable: 0 };
      pairs.set(key, {
        ...sum,
        total: sum.total + Number(each.total),
        free: sum.free + Number(each.free),
        unavailable: sum.unavailable + Number(each.unavailable),
      });
    }
  }
  return [...pairs]
    .sort(([a, one], [b, other]) => other.total - one.total || (a < b ? -1 : 1))
    .map(([, pair]) => pair);
}

/** CloudWatch takes printable ASCII, at most this long, and no empty value. */
const MAX_DIMENSION = 255;

function dimension(text: string): string {
  return text === '' ? 'unspecified' : text.replace(/[^\x20-\x7e]/g, '?').slice(0, MAX_DIMENSION);
}

export function reportFleet(telemetry: Telemetry, heads: readonly Head[]): void {
  const pairs = totalsByPair(heads);
  for (const { model, region, total, free, unavailable } of pairs.slice(0, MAX_PAIRS)) {
    const dimensions = { model, region };
    telemetry.gauge('Accelerators', total, 'Count', dimensions);
    telemetry.gauge('AcceleratorsFree', free, 'Count', dimensions);
    telemetry.gauge('AcceleratorsUnavailable', unavailable, 'Count', dimensions);
  }
  telemetry.gauge('FleetMetricsLeftOut', Math.max(0, pairs.length - MAX_PAIRS), 'Count');
}
