import { describe, expect, it } from 'vitest';
import type { Bundle, PoolDescriptor } from '../../../../functions/core/bundle/model/model.ts';
import { validateBundle } from '../../../../functions/core/bundle/validate/validate.ts';
import { bundle, descriptor, job } from '../builders.ts';

function advice(of: Bundle, ...pools: readonly PoolDescriptor[]) {
  return validateBundle(of, pools).advice;
}

const ROOMY = descriptor([{ totalCapacity: 100, totalCores: 100 }]);

describe('transitiveContradiction', () => {
  it('a with b, b with c, a apart from c', () => {
    const jobs = [
      job('a', {}, { coLocateWith: ['b'], separateFrom: ['c'] }),
      job('b', {}, { coLocateWith: ['c'] }),
      job('c'),
    ];
    expect(advice(bundle(jobs), ROOMY)).toEqual([
      {
        code: 'transitiveContradiction',
        message:
          'Jobs "a" and "c" must stand apart, and co-location binds them to one node ("a" – "b" – "c"); ' +
          'take one of these references out.',
      },
    ]);
  });

  it('one side lists the co-location and the other the separation', () => {
    const jobs = [job('a', {}, { coLocateWith: ['b'] }), job('b', {}, { separateFrom: ['a'] })];
    const result = validateBundle(bundle(jobs), [ROOMY]);
    expect(result.errors).toEqual([]);
    expect(result.advice.map((a) => a.code)).toEqual(['transitiveContradiction']);
  });

  it('is not said again of a pair that one job lists in both lists', () => {
    const jobs = [job('a', {}, { coLocateWith: ['b'], separateFrom: ['b'] }), job('b')];
    const result = validateBundle(bundle(jobs), [ROOMY]);
    expect(result.errors.map((e) => e.code)).toEqual(['contradictoryPlacement']);
    expect(result.advice).toEqual([]);
  });

  it('counts the jobs that sameNodeDefault binds, which are those with neither list', () => {
    const jobs = [job('a'), job('b'), job('c', {}, { coLocateWith: ['a'], separateFrom: ['b'] })];
    const bound = bundle(jobs, { intraReplicaPlacement: { sameNodeDefault: true } });
    expect(advice(bound, ROOMY).map((a) => a.message)).toEqual([
      'Jobs "b" and "c" must stand apart, and co-location binds them to one node ("b" – "a" – "c"); ' +
        'take one of these references out.',
    ]);
    expect(advice(bundle(jobs), ROOMY)).toEqual([]);
  });

  it('is said once of a pair, whichever lists it, and cuts a long chain', () => {
    const jobs = Array.from({ length: 20 }, (_, i) =>
      job(
        `j${i}`,
        {},
        {
          coLocateWith: i < 19 ? [`j${i + 1}`] : [],
          separateFrom: i === 0 ? ['j19'] : i === 19 ? ['j0'] : [],
        },
      ),
    );
    expect(advice(bundle(jobs), ROOMY).map((a) => a.message)).toEqual([
      'Jobs "j0" and "j19" must stand apart, and co-location binds them to one node ' +
        '("j0" – "j1" – "j2" – 15 more – "j18" – "j19"); take one of these references out.',
    ]);
  });

  it('is said of a bundle whose pool is unknown, since it needs no pool', () => {
    const jobs = [job('a', {}, { coLocateWith: ['b'] }), job('b', {}, { separateFrom: ['a'] })];
    expect(advice(bundle(jobs)).map((a) => a.code)).toEqual(['transitiveContradiction']);
  });
});

describe('groupExceedsNode', () => {
  const pair = bundle([
    job('a', { requiredCapacity: 6, requiredCores: 2 }, { coLocateWith: ['b'] }),
    job('b', { requiredCapacity: 5, requiredCapabilities: [{ name: 'n/x', count: 1 }] }),
  ]);

  it('co-located jobs that no single profile holds together', () => {
    const pool = descriptor([
      { totalCapacity: 10, totalCores: 8, capabilities: [{ name: 'n/x', count: 1 }] },
      { totalCapacity: 16, totalCores: 8 },
    ]);
    expect(advice(pair, pool)).toEqual([
      {
        code: 'groupExceedsNode',
        message:
          'Jobs "a", "b" must share a node and together need capacity 11, cores 2, 1 × "n/x", which no single profile of ' +
          'pool "p" holds; the most that any profile offers is capacity 16 and cores 8.',
      },
    ]);
  });

  it('is not said where one profile holds them, or may for all that is known', () => {
    const nic = { capabilities: [{ name: 'n/x', count: 1 }] };
    expect(advice(pair, descriptor([{ totalCapacity: 11, totalCores: 2, ...nic }]))).toEqual([]);
    expect(advice(pair, descriptor([nic]))).toEqual([]);
  });

  it('adds the units of a capability over the jobs', () => {
    const nic = (count: number) => ({ requiredCapabilities: [{ name: 'n/x', count }] });
    const jobs = [job('a', nic(2)), job('b', nic(1), { coLocateWith: ['a'] })];
    const offers = (count: number) => descriptor([{ capabilities: [{ name: 'n/x', count }] }]);
    expect(advice(bundle(jobs), offers(2)).map((a) => a.code)).toEqual(['groupExceedsNode']);
    expect(advice(bundle(jobs), offers(3))).toEqual([]);
  });

  it('packs shares onto devices one by one', () => {
    const share = (amount: number) => ({ requiredGpuCapacity: amount });
    const jobs = [
      job('a', share(0.6)),
      job('b', share(0.6), { coLocateWith: ['a'] }),
      job('c', share(0.6), { coLocateWith: ['a'] }),
    ];
    const devices = (n: number) =>
      descriptor([{ gpus: Array.from({ length: n }, () => ({ totalCapacity: 1 })) }]);
    // 1.8 in all fits in 2, but no two of them fit on one device.
    expect(advice(bundle(jobs), devices(2)).map((a) => a.code)).toEqual(['groupExceedsNode']);
    expect(advice(bundle(jobs), devices(3))).toEqual([]);
  });
});

describe('noSingleProfile', () => {
  it('each need is met somewhere, all of them nowhere', () => {
    const pool = descriptor([
      { totalCapacity: 10, totalCores: 1 },
      { totalCapacity: 1, totalCores: 10 },
    ]);
    expect(advice(bundle([job('a', { requiredCapacity: 10, requiredCores: 10 })]), pool)).toEqual([
      {
        code: 'noSingleProfile',
        message:
          'Job "a" needs capacity 10, cores 10; profiles of pool "p" meet each of these, and none of them all.',
      },
    ]);
  });

  it('is not said where a single need is met nowhere, since that has a code of its own', () => {
    const pool = descriptor([{ totalCapacity: 10, totalCores: 1 }]);
    const result = validateBundle(bundle([job('a', { requiredCapacity: 11, requiredCores: 1 })]), [pool]);
    expect(result.errors.map((e) => e.code)).toEqual(['unsatisfiableCapacity']);
    expect(result.advice).toEqual([]);
  });
});

describe('gpuUnsatisfiable', () => {
  const wants = (requiredGpuCapacity: number, requiredGpuModel = '') =>
    bundle([job('a', { requiredGpuCapacity, requiredGpuModel })]);

  it("GPU capacity that no profile's device offers", () => {
    const pool = descriptor([
      {
        gpus: [
          { model: 'L4', totalCapacity: 0.5 },
          { model: 'L4', totalCapacity: 0.5 },
        ],
      },
    ]);
    expect(advice(wants(0.75), pool)).toEqual([
      {
        code: 'gpuUnsatisfiable',
        message: 'Job "a" needs 0.75 of one device, and the devices of pool "p" are "L4" (capacity 0.5).',
      },
    ]);
    expect(advice(wants(0.5), pool)).toEqual([]);
  });

  it("a GPU model that no profile's device is of", () => {
    const pool = descriptor([{ gpus: [{ model: 'L4', totalCapacity: 1 }] }]);
    expect(advice(wants(0.5, 'H100'), pool).map((a) => a.message)).toEqual([
      'Job "a" needs 0.5 of one "H100" device, and the devices of pool "p" are "L4" (capacity 1).',
    ]);
    expect(advice(wants(0, 'H100'), pool).map((a) => a.message)).toEqual([
      'Job "a" needs one "H100" device, and the devices of pool "p" are "L4" (capacity 1).',
    ]);
    expect(advice(wants(0, 'L4'), pool)).toEqual([]);
  });

  it('a pool without devices', () => {
    expect(advice(wants(0.5), ROOMY).map((a) => a.message)).toEqual([
      'Job "a" needs 0.5 of one device, and no profile of pool "p" has a device.',
    ]);
  });

  it('sees the devices behind accelerator capabilities, and makes nothing of what they leave open', () => {
    const accelerators = (name: string, attributes = {}) =>
      descriptor([{ capabilities: [{ name, count: 2, attributes }] }]);
    expect(advice(wants(0.5, 'L4'), accelerators('resource-map/accelerator', { model: 'L4' }))).toEqual([]);
    expect(advice(wants(0.5, 'L4'), accelerators('resource-map/accelerator'))).toEqual([]);
    expect(advice(wants(7), accelerators('norsk.io/nvidia-gpu'))).toEqual([]);
    expect(
      advice(wants(0.5, 'L4'), accelerators('resource-map/accelerator', { model: 'T4' })).map(
        (a) => a.message,
      ),
    ).toEqual(['Job "a" needs 0.5 of one "L4" device, and the devices of pool "p" are "T4" (capacity 1).']);
  });
});

describe('backupPoolUnsatisfiable', () => {
  const jobs = [job('a', { requiredCapacity: 6, requiredCores: 3 }), job('b', { requiredCapacity: 1 })];
  const spare = (totalCapacity: number) => descriptor([{ totalCapacity, totalCores: 2 }], { poolName: 'q' });

  it('names what the pool that the policy names does not offer', () => {
    const result = validateBundle(bundle(jobs, { resiliencePolicy: { pool: 'q' } }), [ROOMY, spare(5)]);
    expect(result.errors).toEqual([]);
    expect(result.advice).toEqual([
      {
        code: 'backupPoolUnsatisfiable',
        message:
          'The backup of job "a" needs capacity 6 and cores 3, which no profile of the resilience pool "q" offers; ' +
          'the most that any profile offers is capacity 5 and cores 2.',
      },
    ]);
  });

  it("is not said of the bundle's own pool, whose findings are not advice", () => {
    const own = bundle(jobs, { resiliencePolicy: { pool: 'p' } });
    expect(advice(own, descriptor([{ totalCapacity: 1, totalCores: 1 }]))).toEqual([]);
  });
});

describe('invalidNumber', () => {
  it('negative, NaN and infinite numbers of a job', () => {
    const jobs = [
      job('a', {
        requiredCapacity: -1,
        requiredCores: Number.NaN,
        requiredGpuCapacity: Number.POSITIVE_INFINITY,
      }),
      job('b', { requiredCapabilities: [{ name: 'n/x', count: -2 }] }),
    ];
    const invalid = advice(bundle(jobs)).filter((a) => a.code === 'invalidNumber');
    expect(invalid.map((a) => a.message)).toEqual([
      'Job "a" has -1 for requiredCapacity; give a finite number of 0 or more.',
      'Job "a" has NaN for requiredCores; give a finite number of 0 or more.',
      'Job "a" has Infinity for requiredGpuCapacity; give a finite number of 0 or more.',
      'Job "b" has -2 for the count of capability "n/x"; give a finite number of 0 or more.',
    ]);
  });

  it('is never an error', () => {
    const result = validateBundle(bundle([job('a', { requiredCapacity: Number.NaN })]), [ROOMY]);
    expect([result.errors, result.warnings]).toEqual([[], []]);
  });
});

it('comes by code in one order, and never among errors and warnings', () => {
  const jobs = [
    job('a', { requiredCapacity: -1, requiredGpuCapacity: 9 }, { coLocateWith: ['b'] }),
    job('b', { requiredCapacity: 8, requiredCores: 8 }, { separateFrom: ['a'] }),
  ];
  const result = validateBundle(bundle(jobs, { resiliencePolicy: { pool: 'q' } }), [
    descriptor([
      { totalCapacity: 8, totalCores: 1 },
      { totalCapacity: 1, totalCores: 8 },
    ]),
    descriptor([], { poolName: 'q' }),
  ]);
  expect([result.errors, result.warnings]).toEqual([[], []]);
  expect(result.advice.map((a) => a.code)).toEqual([
    'transitiveContradiction',
    'groupExceedsNode',
    'noSingleProfile',
    'gpuUnsatisfiable',
    'backupPoolUnsatisfiable',
    'backupPoolUnsatisfiable',
    'invalidNumber',
  ]);
});
