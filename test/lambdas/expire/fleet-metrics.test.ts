import { describe, expect, it } from 'vitest';
import { MAX_PAIRS, reportFleet, totalsByPair } from '../../../functions/lambdas/expire/fleet-metrics.ts';
import { headOf } from '../notify/builders.ts';
import { RecordedTelemetry } from '../notify/recorded-telemetry.ts';

const identity = (region: string) => ({ displayName: '', provider: 'aws', region, site: '' });
const h100 = (total: number, free = total) => [
  { model: 'H100', total: BigInt(total), free: BigInt(free), unavailable: 0n },
];

describe('Metrics of the fleet', () => {
  it('add clusters up by model and region, the largest first', () => {
    const heads = [
      headOf({ clusterId: 'a', identity: identity('eu'), accelerators: h100(8, 3) }),
      headOf({ clusterId: 'b', identity: identity('us'), accelerators: h100(24) }),
      headOf({ clusterId: 'c', identity: identity('eu'), accelerators: h100(8, 1) }),
    ];
    expect(totalsByPair(heads)).toEqual([
      { model: 'H100', region: 'us', total: 24, free: 24, unavailable: 0 },
      { model: 'H100', region: 'eu', total: 16, free: 4, unavailable: 0 },
    ]);
    expect(totalsByPair([...heads].reverse())).toEqual(totalsByPair(heads));
  });

  it('name what CloudWatch can take: no empty value, and printable ASCII', () => {
    const accelerators = [
      { model: '', total: 1n, free: 0n, unavailable: 0n },
      { model: `é\u202e${'x'.repeat(300)}`, total: 1n, free: 0n, unavailable: 0n },
    ];
    const pairs = totalsByPair([headOf({ identity: identity(''), accelerators })]);
    expect(pairs.map(({ model, region }) => [model, region]).sort()).toEqual([
      [`??${'x'.repeat(253)}`, 'unspecified'],
      ['unspecified', 'unspecified'],
    ]);
  });

  it('are bounded, and say how many pairs they leave out', () => {
    const telemetry = new RecordedTelemetry();
    const heads = Array.from({ length: MAX_PAIRS + 2 }, (_, i) =>
      headOf({ clusterId: `c${i}`, identity: identity(`region-${i}`), accelerators: h100(100 - i, 1) }),
    );
    reportFleet(telemetry, heads);
    expect(telemetry.gauges.get('FleetMetricsLeftOut')).toEqual([2, 'Count']);
    expect(telemetry.gauges.get('Accelerators H100 region-0')).toEqual([100, 'Count']);
    expect(telemetry.gauges.get('AcceleratorsFree H100 region-49')).toEqual([1, 'Count']);
    expect(telemetry.gauges.has('Accelerators H100 region-50')).toBe(false);
  });
});
