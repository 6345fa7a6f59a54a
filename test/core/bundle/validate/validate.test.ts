import { describe, expect, it } from 'vitest';
import type { JobRequirements, PoolDescriptor } from '../../../../functions/core/bundle/model/model.ts';
import { validateBundle } from '../../../../functions/core/bundle/validate/validate.ts';
import { bundle, descriptor, job } from '../builders.ts';

const ROOMY = { totalCapacity: 100, totalCores: 64 };

function codes(findings: readonly { readonly code: string }[]): readonly string[] {
  return findings.map((f) => f.code);
}

/** The findings of a bundle of one job `a` against one pool. */
function findingsOf(requirements: JobRequirements, pool: PoolDescriptor) {
  return validateBundle(bundle([job('a', requirements)]), [pool]);
}

it('finds nothing in a bundle that fits', () => {
  expect(validateBundle(bundle([job('a', { requiredCapacity: 100 })]), [descriptor([ROOMY])])).toEqual({
    errors: [],
    warnings: [],
    advice: [],
  });
});

describe('pool', () => {
  it('emptyPoolList: the pool is empty, and then it is not unknown as well', () => {
    expect(validateBundle(bundle([job('a')], { pool: '' }), [descriptor([ROOMY])]).errors).toEqual([
      { code: 'emptyPoolList', message: 'The bundle\'s pool is ""; name one that is configured: "p".' },
    ]);
  });

  it('unknownPoolName: the pool is not configured', () => {
    expect(validateBundle(bundle([job('a')], { pool: 'q' }), [descriptor([ROOMY])]).errors).toEqual([
      {
        code: 'unknownPoolName',
        message: 'The bundle\'s pool "q" is not configured; name one that is configured: "p".',
      },
    ]);
  });

  it('says so where no pool is configured at all', () => {
    expect(validateBundle(bundle([]), []).errors[0]?.message).toBe(
      'The bundle\'s pool "p" is not configured; no pool is configured.',
    );
  });

  it('names no more pools than a reader wants', () => {
    const many = Array.from({ length: 20 }, (_, i) => descriptor([], { poolName: `p${i}` }));
    expect(validateBundle(bundle([], { pool: 'q' }), many).errors[0]?.message).toBe(
      'The bundle\'s pool "q" is not configured; name one that is configured: "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7" and 12 more.',
    );
  });

  it('does not check capacity or sameCloud of an unknown pool, and does check names and references', () => {
    const jobs = [
      job('a', { requiredCapacity: 1e9 }, { coLocateWith: ['a', 'x'] }),
      job('a', { requiredCores: 1e9 }, { separateFrom: ['y'] }),
    ];
    const result = validateBundle(bundle(jobs, { pool: 'q', resiliencePolicy: { sameCloud: 'forbid' } }), [
      descriptor([ROOMY], { clouds: [] }),
    ]);
    expect(codes(result.errors)).toEqual([
      'unknownPoolName',
      'duplicateJobName',
      'selfReferenceInPlacement',
      'unknownJobNameInPlacement',
      'unknownJobNameInPlacement',
    ]);
    expect(result.warnings).toEqual([]);
  });

  it('decides by the first of two descriptors with one name', () => {
    const small = descriptor([{ totalCapacity: 1 }], { kind: 'cluster' });
    const large = descriptor([{ totalCapacity: 9 }]);
    const needs = bundle([job('a', { requiredCapacity: 5 })]);
    expect(codes(validateBundle(needs, [small, large]).warnings)).toEqual(['unsatisfiableCapacity']);
    expect(validateBundle(needs, [large, small])).toEqual({ errors: [], warnings: [], advice: [] });
  });
});

describe('resilience policy', () => {
  it('unknownResiliencePool: the policy names a pool that is not configured', () => {
    expect(
      validateBundle(bundle([], { resiliencePolicy: { pool: 'q' } }), [descriptor([ROOMY])]).errors,
    ).toEqual([
      {
        code: 'unknownResiliencePool',
        message:
          'The resilience policy\'s pool "q" is not configured; name one that is configured: "p". ' +
          "Without one the backup uses the bundle's own pool.",
      },
    ]);
  });

  it('takes an empty string as a name that was given', () => {
    const result = validateBundle(bundle([], { resiliencePolicy: { pool: '' } }), [descriptor([ROOMY])]);
    expect(codes(result.errors)).toEqual(['unknownResiliencePool']);
  });

  it("is checked where the bundle's own pool is unknown, the same name included", () => {
    const result = validateBundle(bundle([], { pool: 'q', resiliencePolicy: { pool: 'q' } }), []);
    expect(codes(result.errors)).toEqual(['unknownPoolName', 'unknownResiliencePool']);
  });

  const forbid = { resiliencePolicy: { sameCloud: 'forbid' } } as const;

  it('resilienceUnsatisfiable: the backup must leave the cloud and its pool spans one', () => {
    expect(validateBundle(bundle([], forbid), [descriptor([ROOMY], { clouds: ['aws'] })]).errors).toEqual([
      {
        code: 'resilienceUnsatisfiable',
        message:
          'The resilience policy has sameCloud "forbid", and the backup shares the pool "p", which spans one cloud, "aws"; ' +
          'it takes two. Allow sameCloud, or name a resilience pool in another cloud.',
      },
    ]);
  });

  it('resilienceUnsatisfiable: or none', () => {
    expect(validateBundle(bundle([], forbid), [descriptor([], { clouds: [] })]).errors[0]?.message).toBe(
      'The resilience policy has sameCloud "forbid", and the backup shares the pool "p", which spans no cloud; ' +
        'it takes two. Allow sameCloud, or name a resilience pool in another cloud.',
    );
  });

  it('resilienceUnsatisfiable: is an error for a cluster pool too', () => {
    const cluster = descriptor([ROOMY], { kind: 'cluster', clouds: ['aws'] });
    expect(codes(validateBundle(bundle([], forbid), [cluster]).errors)).toEqual(['resilienceUnsatisfiable']);
  });

  it("resilienceUnsatisfiable: also where the policy names the bundle's own pool", () => {
    const named = { resiliencePolicy: { pool: 'p', sameCloud: 'forbid' } } as const;
    const result = validateBundle(bundle([], named), [descriptor([ROOMY], { clouds: ['aws'] })]);
    expect(codes(result.errors)).toEqual(['resilienceUnsatisfiable']);
  });

  it('counts duplicate entries in clouds as they stand', () => {
    const twice = descriptor([ROOMY], { clouds: ['aws', 'aws'] });
    expect(validateBundle(bundle([], forbid), [twice]).errors).toEqual([]);
  });

  it('is satisfied by two clouds, and not looked at where the backup has a pool of its own', () => {
    const one = descriptor([ROOMY], { clouds: ['aws'] });
    expect(validateBundle(bundle([], forbid), [descriptor([ROOMY])]).errors).toEqual([]);
    expect(
      validateBundle(bundle([], { resiliencePolicy: { pool: 'q', sameCloud: 'forbid' } }), [
        one,
        { ...one, poolName: 'q' },
      ]).errors,
    ).toEqual([]);
  });

  it('never rejects sameNode and sameAz statically', () => {
    const strict = {
      resiliencePolicy: { sameNode: 'forbid', sameAz: 'forbid', sameCloud: 'allow' },
    } as const;
    const empty = descriptor([], { clouds: [] });
    expect(validateBundle(bundle([job('a')], strict), [empty]).errors).toEqual([]);
  });

  it("does not check the backup pool's capacity", () => {
    const result = validateBundle(
      bundle([job('a', { requiredCapacity: 50 })], { resiliencePolicy: { pool: 'q' } }),
      [descriptor([ROOMY]), descriptor([{ totalCapacity: 1 }], { poolName: 'q' })],
    );
    expect(result.errors).toEqual([]);
    expect(result.warnings).toEqual([]);
  });
});

describe('job names', () => {
  it('duplicateJobName: once per repetition, and each duplicate is still evaluated', () => {
    const jobs = [1, 2, 3].map((capacity) => job('a', { requiredCapacity: capacity }));
    expect(validateBundle(bundle(jobs), [descriptor([{ totalCapacity: 1 }])]).errors).toEqual([
      {
        code: 'duplicateJobName',
        message:
          'The name "a" of jobs[1] is that of jobs[0] already; every job of a bundle has a name of its own.',
      },
      {
        code: 'duplicateJobName',
        message:
          'The name "a" of jobs[2] is that of jobs[0] already; every job of a bundle has a name of its own.',
      },
      {
        code: 'unsatisfiableCapacity',
        message: 'Job "a" needs capacity 2, and the best profile of pool "p" offers 1.',
      },
      {
        code: 'unsatisfiableCapacity',
        message: 'Job "a" needs capacity 3, and the best profile of pool "p" offers 1.',
      },
    ]);
  });
});

describe('references', () => {
  it('selfReferenceInPlacement: a job lists itself, once per list', () => {
    const jobs = [job('a', {}, { coLocateWith: ['a', 'a'], separateFrom: ['a'] })];
    expect(validateBundle(bundle(jobs), [descriptor([ROOMY])]).errors).toEqual([
      { code: 'selfReferenceInPlacement', message: 'Job "a" lists itself in coLocateWith; take it out.' },
      { code: 'selfReferenceInPlacement', message: 'Job "a" lists itself in separateFrom; take it out.' },
      {
        code: 'contradictoryPlacement',
        message: 'Job "a" lists "a" in both coLocateWith and separateFrom; take it out of one of them.',
      },
    ]);
  });

  it('unknownJobNameInPlacement: a job lists one that the bundle does not have, once per list and name', () => {
    const jobs = [job('a', {}, { coLocateWith: ['x', 'y', 'x'], separateFrom: ['z', 'z'] }), job('b')];
    expect(validateBundle(bundle(jobs), [descriptor([ROOMY])]).errors).toEqual([
      {
        code: 'unknownJobNameInPlacement',
        message:
          'Job "a" lists "x" in coLocateWith, and the bundle has no job of that name; its jobs are "a", "b".',
      },
      {
        code: 'unknownJobNameInPlacement',
        message:
          'Job "a" lists "y" in coLocateWith, and the bundle has no job of that name; its jobs are "a", "b".',
      },
      {
        code: 'unknownJobNameInPlacement',
        message:
          'Job "a" lists "z" in separateFrom, and the bundle has no job of that name; its jobs are "a", "b".',
      },
    ]);
  });

  it('a duplicate name is the same name in references', () => {
    const jobs = [job('a', {}, { coLocateWith: ['b'] }), job('b', {}, { separateFrom: ['b'] }), job('b')];
    expect(codes(validateBundle(bundle(jobs), [descriptor([ROOMY])]).errors)).toEqual([
      'duplicateJobName',
      'selfReferenceInPlacement',
    ]);
  });

  it('contradictoryPlacement: one job lists one name in both lists, an unknown one too', () => {
    const jobs = [job('a', {}, { coLocateWith: ['b', 'x'], separateFrom: ['x', 'b', 'b'] }), job('b')];
    expect(codes(validateBundle(bundle(jobs), [descriptor([ROOMY])]).errors)).toEqual([
      'unknownJobNameInPlacement',
      'unknownJobNameInPlacement',
      'contradictoryPlacement',
      'contradictoryPlacement',
    ]);
  });

  it("takes names of JavaScript's own for what they are: names", () => {
    const jobs = [
      job('__proto__', {}, { coLocateWith: ['constructor'] }),
      job('a', {}, { separateFrom: ['__proto__'] }),
    ];
    expect(validateBundle(bundle(jobs, { pool: '__proto__' }), []).errors.map((e) => e.message)).toEqual([
      'The bundle\'s pool "__proto__" is not configured; no pool is configured.',
      'Job "__proto__" lists "constructor" in coLocateWith, and the bundle has no job of that name; its jobs are "__proto__", "a".',
    ]);
  });
});

describe.each([
  ['unsatisfiableCapacity', 'requiredCapacity', 'totalCapacity', 'capacity'],
  ['unsatisfiableCores', 'requiredCores', 'totalCores', 'cores'],
] as const)('%s', (code, required, total, what) => {
  it('no profile offers as much as the job needs; the message has the best of them', () => {
    const pool = descriptor([{ [total]: 4 }, { [total]: 16 }, { [total]: 8 }]);
    expect(findingsOf({ [required]: 16.5 }, pool)).toMatchObject({
      errors: [{ code, message: `Job "a" needs ${what} 16.5, and the best profile of pool "p" offers 16.` }],
      warnings: [],
    });
  });

  it('is a warning where a node can still join', () => {
    const pool = descriptor([{ [total]: 4 }], { kind: 'cluster' });
    expect(findingsOf({ [required]: 5 }, pool)).toMatchObject({
      errors: [],
      warnings: [{ code, message: `Job "a" needs ${what} 5, and the best profile of pool "p" offers 4.` }],
    });
  });

  it('is met by exactly as much', () => {
    expect(codes(findingsOf({ [required]: 16 }, descriptor([{ [total]: 16 }])).errors)).toEqual([]);
  });

  it('holds of a pool without profiles', () => {
    expect(findingsOf({ [required]: 1 }, descriptor([])).errors).toEqual([
      { code, message: `Job "a" needs ${what} 1, and pool "p" has no node profile that offers any.` },
    ]);
  });

  it('is not checked for a need of 0, an absent, a negative one or NaN', () => {
    const pool = descriptor([]);
    for (const need of [0, -0, undefined, -1, Number.NEGATIVE_INFINITY, Number.NaN]) {
      expect(codes(findingsOf({ [required]: need }, pool).errors), String(need)).toEqual([]);
    }
    expect(codes(findingsOf({ [required]: Number.MIN_VALUE }, pool).errors)).toEqual([code]);
    expect(codes(findingsOf({ [required]: Number.POSITIVE_INFINITY }, pool).errors)).toEqual([code]);
  });

  it('makes nothing of a profile that does not say', () => {
    expect(codes(findingsOf({ [required]: 1e9 }, descriptor([{ [total]: 1 }, {}])).errors)).toEqual([]);
  });

  it('takes a profile of NaN as offering nothing', () => {
    const pool = descriptor([{ [total]: Number.NaN }, { [total]: 2 }]);
    expect(findingsOf({ [required]: 3 }, pool).errors[0]?.message).toBe(
      `Job "a" needs ${what} 3, and the best profile of pool "p" offers 2.`,
    );
  });
});

describe('unsatisfiableCapability', () => {
  const NIC = 'norsk.io/st2110-nic';
  const needs = (count: number, attributeMatches = {}): JobRequirements => ({
    requiredCapabilities: [{ name: NIC, count, attributeMatches }],
  });
  const offers = (...entries: readonly { count: number; attributes?: Record<string, string> }[]) => ({
    capabilities: entries.map((entry) => ({ name: NIC, ...entry })),
  });

  it('no profile has the capability, even where none of it is asked for', () => {
    for (const count of [0, 1]) {
      expect(findingsOf(needs(count), descriptor([ROOMY])).errors).toEqual([
        {
          code: 'unsatisfiableCapability',
          message: `Job "a" needs ${count} × "norsk.io/st2110-nic", and no profile of pool "p" has that capability.`,
        },
      ]);
    }
    expect(findingsOf(needs(0), descriptor([offers({ count: 0 })])).errors).toEqual([]);
  });

  it('a pool without profiles has no capability, and a need below 0 asks for one all the same', () => {
    for (const count of [-1, 0, 1]) {
      expect(codes(findingsOf(needs(count), descriptor([])).errors)).toEqual(['unsatisfiableCapability']);
    }
  });

  it('no profile has enough of it', () => {
    expect(findingsOf(needs(3), descriptor([offers({ count: 1 }), offers({ count: 2 })])).errors).toEqual([
      {
        code: 'unsatisfiableCapability',
        message: 'Job "a" needs 3 × "norsk.io/st2110-nic", and the best profile of pool "p" offers 2.',
      },
    ]);
  });

  it('no profile has every attribute with the value that is asked for', () => {
    const pool = descriptor([offers({ count: 4, attributes: { speed: '25G', vendor: 'x' } })]);
    expect(findingsOf(needs(1, { speed: '100G', vendor: 'x', ptp: 'yes' }), pool).errors).toEqual([
      {
        code: 'unsatisfiableCapability',
        message:
          'Job "a" needs 1 × "norsk.io/st2110-nic" with "speed" = "100G", "vendor" = "x", "ptp" = "yes", ' +
          'and the best profile of pool "p" offers 4 with "speed" = "25G", no "ptp".',
      },
    ]);
    expect(findingsOf(needs(1, { vendor: 'x' }), pool).errors).toEqual([]);
  });

  it('prefers to name the profile with the right attributes, however little it has', () => {
    const pool = descriptor([
      offers({ count: 9, attributes: { speed: '25G' } }),
      offers({ count: 1, attributes: { speed: '100G' } }),
    ]);
    expect(findingsOf(needs(2, { speed: '100G' }), pool).errors[0]?.message).toBe(
      'Job "a" needs 2 × "norsk.io/st2110-nic" with "speed" = "100G", and the best profile of pool "p" offers 1.',
    );
  });

  it('is decided by the first entry of that name', () => {
    const pool = descriptor([offers({ count: 1 }, { count: 8 })]);
    expect(codes(findingsOf(needs(2), pool).errors)).toEqual(['unsatisfiableCapability']);
    expect(codes(findingsOf(needs(2), descriptor([offers({ count: 8 }, { count: 1 })])).errors)).toEqual([]);
  });

  it('is a warning where a node can still join', () => {
    const result = findingsOf(needs(1), descriptor([ROOMY], { kind: 'cluster' }));
    expect(result.errors).toEqual([]);
    expect(codes(result.warnings)).toEqual(['unsatisfiableCapability']);
  });

  it('finds no attribute on the prototype of an object', () => {
    const pool = descriptor([offers({ count: 1, attributes: {} })]);
    expect(codes(findingsOf(needs(1, { constructor: 'Object' }), pool).errors)).toEqual([
      'unsatisfiableCapability',
    ]);
  });
});

describe('each need by itself', () => {
  it('may be met by a different profile', () => {
    const pool = descriptor([
      { totalCapacity: 10, totalCores: 1 },
      { totalCapacity: 1, totalCores: 10 },
      { totalCapacity: 1, totalCores: 1, capabilities: [{ name: 'n/x', count: 1 }] },
    ]);
    const result = findingsOf(
      { requiredCapacity: 10, requiredCores: 10, requiredCapabilities: [{ name: 'n/x', count: 1 }] },
      pool,
    );
    expect(result.errors).toEqual([]);
    expect(result.warnings).toEqual([]);
  });

  it('is not summed over jobs', () => {
    const jobs = [
      job('a', { requiredCapacity: 10 }),
      job('b', { requiredCapacity: 10 }, { coLocateWith: ['a'] }),
    ];
    const result = validateBundle(bundle(jobs), [descriptor([{ totalCapacity: 10, totalCores: 0 }])]);
    expect(result.errors).toEqual([]);
  });

  it('is not summed over profiles', () => {
    const pool = descriptor([{ totalCapacity: 10 }, { totalCapacity: 10 }]);
    expect(codes(findingsOf({ requiredCapacity: 11 }, pool).errors)).toEqual(['unsatisfiableCapacity']);
  });
});

it('reports every finding in the order of the contract', () => {
  const jobs = [
    job(
      'a',
      {
        requiredCapacity: 9,
        requiredCores: 9,
        requiredCapabilities: [
          { name: 'n/y', count: 1 },
          { name: 'n/x', count: 1 },
        ],
      },
      { coLocateWith: ['a', 'u', 'b'], separateFrom: ['v', 'a', 'b'] },
    ),
    job('b', { requiredCapacity: 9 }, { separateFrom: ['w'] }),
    job('a'),
    job('b'),
  ];
  const result = validateBundle(bundle(jobs, { resiliencePolicy: { sameCloud: 'forbid' } }), [
    descriptor([{ totalCapacity: 1, totalCores: 1 }], { clouds: [] }),
  ]);
  expect(result.errors.map((e) => `${e.code} ${/"[^"]*"(?! already)/.exec(e.message)?.[0]}`)).toEqual([
    'resilienceUnsatisfiable "forbid"',
    'duplicateJobName "a"',
    'duplicateJobName "b"',
    'selfReferenceInPlacement "a"',
    'unknownJobNameInPlacement "a"',
    'unknownJobNameInPlacement "a"',
    'selfReferenceInPlacement "a"',
    'contradictoryPlacement "a"',
    'contradictoryPlacement "a"',
    'unsatisfiableCapacity "a"',
    'unsatisfiableCores "a"',
    'unsatisfiableCapability "a"',
    'unsatisfiableCapability "a"',
    'unknownJobNameInPlacement "b"',
    'unsatisfiableCapacity "b"',
  ]);
});

it('keeps the order of warnings, which leave the errors theirs', () => {
  const jobs = [
    job('a', { requiredCores: 9, requiredCapacity: 9 }, { separateFrom: ['x'] }),
    job('b', { requiredCapacity: 9 }),
  ];
  const result = validateBundle(bundle(jobs), [descriptor([], { kind: 'cluster' })]);
  expect(codes(result.errors)).toEqual(['unknownJobNameInPlacement']);
  expect(codes(result.warnings)).toEqual([
    'unsatisfiableCapacity',
    'unsatisfiableCores',
    'unsatisfiableCapacity',
  ]);
});

it('reports a pool and a resilience pool that are both unknown, pool first', () => {
  const result = validateBundle(bundle([], { pool: '', resiliencePolicy: { pool: 'r' } }), []);
  expect(codes(result.errors)).toEqual(['emptyPoolList', 'unknownResiliencePool']);
});

it('cuts a name that no reader could take in', () => {
  const [error] = validateBundle(bundle([], { pool: 'x'.repeat(10_000) }), []).errors;
  expect(error?.message.length).toBeLessThan(300);
});
