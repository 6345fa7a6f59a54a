import { describe, expect, it } from 'vitest';
import { faultsOf, validateRequest } from './requests.ts';

const bundle = (jobs: readonly unknown[], more: object = {}) => ({ bundleId: 'b', pool: 'p', jobs, ...more });
const faults = (request: unknown) => faultsOf(() => validateRequest(request));
const many = <T>(count: number, of: (i: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, i) => of(i));

describe('a bundle', () => {
  it('is read whole', () => {
    const whole = {
      bundleId: 'b1',
      pool: 'p',
      jobs: [
        {
          jobName: 'a',
          requirements: {
            requiredCapacity: 1.5,
            requiredCores: 2,
            requiredGpuCapacity: 0.5,
            requiredGpuModel: 'L4',
            requiredCapabilities: [{ name: 'n/x', count: 2, attributeMatches: { speed: '100G' } }],
            priorityBand: 'gold',
          },
          coLocateWith: ['b'],
          separateFrom: ['c'],
        },
      ],
      intraReplicaPlacement: { sameNodeDefault: true, sameAz: 'hard' },
      resiliencePolicy: { pool: 'q', sameNode: 'forbid', sameAz: 'allow', sameCloud: 'forbid' },
      state: 'deleting',
    };
    expect(validateRequest({ bundle: whole })).toEqual({ bundle: whole, pools: undefined });
  });

  it('has the words of the contract where it leaves them out', () => {
    const { bundle: read } = validateRequest({
      bundle: bundle([{ jobName: 'a', requirements: {} }], {
        intraReplicaPlacement: {},
        resiliencePolicy: {},
      }),
    });
    expect(read.state).toBe('live');
    expect(read.jobs[0]?.requirements?.priorityBand).toBe('bronze');
    expect(read.intraReplicaPlacement).toEqual({ sameNodeDefault: false, sameAz: 'off' });
    expect(read.resiliencePolicy).toEqual({ sameNode: 'allow', sameAz: 'allow', sameCloud: 'allow' });
  });

  it('keeps an empty resilience pool apart from an absent one', () => {
    const policyOf = (policy: object) =>
      validateRequest({ bundle: bundle([], { resiliencePolicy: policy }) }).bundle.resiliencePolicy?.pool;
    expect([policyOf({}), policyOf({ pool: '' })]).toEqual([undefined, '']);
  });

  it('keeps what is for validation to say: odd numbers, empty and equal names', () => {
    const { bundle: read } = validateRequest({
      bundle: {
        jobs: [
          { requirements: { requiredCapacity: 'NaN', requiredCores: -1, requiredGpuCapacity: '-Infinity' } },
          { requirements: { requiredCapabilities: [{ count: -3 }] } },
        ],
      },
    });
    expect([read.pool, ...read.jobs.map((j) => j.jobName)]).toEqual(['', '', '']);
    expect(read.jobs[0]?.requirements).toMatchObject({
      requiredCapacity: Number.NaN,
      requiredCores: -1,
      requiredGpuCapacity: Number.NEGATIVE_INFINITY,
    });
    expect(read.jobs[1]?.requirements?.requiredCapabilities?.[0]?.count).toBe(-3);
  });

  it("takes names of JavaScript's own as names", () => {
    const { bundle: read } = validateRequest(
      JSON.parse(
        '{"bundle": {"pool": "__proto__", "jobs": [{"jobName": "constructor", "requirements": {"requiredCapabilities": [{"name": "__proto__", "count": 1, "attributeMatches": {"__proto__": "x"}}]}}]}}',
      ),
    );
    const [capability] = read.jobs[0]?.requirements?.requiredCapabilities ?? [];
    expect(Object.entries(capability?.attributeMatches ?? {})).toEqual([['__proto__', 'x']]);
    expect(read.pool).toBe('__proto__');
  });

  it('has its launch passed on: opaque parts as they came, reserved tags dropped, times in RFC 3339', () => {
    const { bundle: read } = validateRequest({
      bundle: bundle([
        {
          jobName: 'a',
          launch: {
            productTemplate: {
              ref: 'r',
              parameters: { deep: { list: [1, null, 'x'] } },
              startDateTime: '2026-01-31T13:00:00+01:00',
              stopDateTime: '2026-02-01T00:00:00Z',
              tags: { team: 'x', __stopDateTime: 'y' },
            },
          },
        },
        { jobName: 'b', launch: { legacy: { job: { anything: [{}] } } } },
      ]),
    });
    expect(read.jobs.map((j) => j.launch)).toEqual([
      {
        productTemplate: {
          ref: 'r',
          parameters: { deep: { list: [1, null, 'x'] } },
          startDateTime: '2026-01-31T12:00:00Z',
          stopDateTime: '2026-02-01T00:00:00Z',
          tags: { team: 'x' },
        },
      },
      { legacy: { job: { anything: [{}] } } },
    ]);
  });
});

describe('a descriptor', () => {
  it('is read whole, and an amount that it leaves out stays unknown', () => {
    const pool = {
      poolName: 'p',
      kind: 'elastic',
      nodeProfiles: [
        { totalCapacity: 0, capabilities: [{ name: 'n/x', count: 2, attributes: { a: 'b' } }] },
        { totalCores: 8, gpus: [{ model: 'L4', totalCapacity: 1 }] },
      ],
      clouds: ['aws', 'aws'],
    };
    expect(validateRequest({ bundle: bundle([]), pools: [pool] }).pools).toEqual([
      {
        poolName: 'p',
        kind: 'elastic',
        nodeProfiles: [
          { totalCapacity: 0, capabilities: [{ name: 'n/x', count: 2, attributes: { a: 'b' } }], gpus: [] },
          { totalCores: 8, capabilities: [], gpus: [{ model: 'L4', totalCapacity: 1 }] },
        ],
        clouds: ['aws', 'aws'],
      },
    ]);
  });
});

describe('faults', () => {
  it.each([
    ['no bundle', {}, 'bundle: It is missing; send the bundle that is to be validated.'],
    [
      'a band that is none',
      { bundle: bundle([{ jobName: 'a', requirements: { priorityBand: 'platinum' } }]) },
      'bundle.jobs[0].requirements.priority_band: "platinum" is none of "gold", "silver", "bronze".',
    ],
    [
      'a word in capitals',
      { bundle: bundle([], { intraReplicaPlacement: { sameAz: 'HARD' } }) },
      'bundle.intra_replica_placement.same_az: "HARD" is none of "hard", "soft", "off".',
    ],
    [
      'a policy that is none',
      { bundle: bundle([], { resiliencePolicy: { sameCloud: 'deny' } }) },
      'bundle.resilience_policy.same_cloud: "deny" is none of "allow", "forbid".',
    ],
    [
      'a state that is none',
      { bundle: bundle([], { state: 'dead' }) },
      'bundle.state: "dead" is none of "live", "deleting".',
    ],
    [
      'a pool without its kind',
      { bundle: bundle([]), pools: [{ poolName: 'p' }] },
      'pools[0].kind: It is missing; it can be "elastic", "cluster".',
    ],
    [
      'an empty launch',
      { bundle: bundle([{ jobName: 'a', launch: {} }]) },
      'bundle.jobs[0].launch: It is empty; give product_template or legacy, or leave launch out.',
    ],
    [
      'a negative count of a capability on offer',
      {
        bundle: bundle([]),
        pools: [
          { poolName: 'p', kind: 'elastic', nodeProfiles: [{ capabilities: [{ name: 'x', count: -1 }] }] },
        ],
      },
      'pools[0].node_profiles[0].capabilities[0].count: -1 is no amount; give a finite number of 0 or more.',
    ],
    [
      'too many jobs',
      { bundle: bundle(many(501, (i) => ({ jobName: `j${i}` }))) },
      'bundle.jobs: There are 501 entries; at most 500 are taken.',
    ],
    [
      'too many references',
      {
        bundle: bundle(
          many(3, () => ({ coLocateWith: many(1_000, String), separateFrom: many(1_000, String) })),
        ),
      },
      'bundle: There are 6000 names in co_locate_with and separate_from in all; at most 5000 are taken.',
    ],
    [
      'too many capabilities of one job',
      { bundle: bundle([{ requirements: { requiredCapabilities: many(201, () => ({ name: 'x' })) } }]) },
      'bundle.jobs[0].requirements.required_capabilities: There are 201 entries; at most 200 are taken.',
    ],
    [
      'too many capabilities of all jobs',
      {
        bundle: bundle(
          many(26, () => ({ requirements: { requiredCapabilities: many(200, () => ({ name: 'x' })) } })),
        ),
      },
      'bundle: There are 5200 required_capabilities in all; at most 5000 are taken.',
    ],
    [
      'too many attributes',
      {
        bundle: bundle([
          {
            requirements: {
              requiredCapabilities: [
                { name: 'x', attributeMatches: Object.fromEntries(many(65, (i) => [i, 'v'])) },
              ],
            },
          },
        ]),
      },
      'bundle.jobs[0].requirements.required_capabilities[0].attribute_matches: There are 65 entries; at most 64 are taken.',
    ],
    [
      'too many pools',
      { bundle: bundle([]), pools: many(201, () => ({})) },
      'pools: There are 201 entries; at most 200 are taken.',
    ],
    [
      'too many profiles',
      {
        bundle: bundle([]),
        pools: [{ poolName: 'p', kind: 'elastic', nodeProfiles: many(1_001, () => ({})) }],
      },
      'pools[0].node_profiles: There are 1001 entries; at most 1000 are taken.',
    ],
    [
      'a name that is too long',
      { bundle: bundle([{ jobName: 'ü'.repeat(127) }]) },
      `bundle.jobs[0].job_name: "${'ü'.repeat(127)}" has 254 bytes; at most 253 are taken.`,
    ],
  ])('%s', (_, request, fault) => {
    expect(faults(request)).toEqual([fault]);
  });

  it('are all told, and the first stands in the message', () => {
    const request = {
      bundle: bundle([{ requirements: { priorityBand: 'x' } }, { requirements: { priorityBand: 'y' } }]),
    };
    expect(faults(request).map((fault) => fault.split(':')[0])).toEqual([
      'bundle.jobs[0].requirements.priority_band',
      'bundle.jobs[1].requirements.priority_band',
    ]);
    expect(() => validateRequest(request)).toThrow(
      '[invalid_bundle_request] bundle.jobs[0].requirements.priority_band: "x" is none of "gold", "silver", "bronze". And 1 more, see findings.',
    );
  });

  it.each([
    [
      { bundle: { jobs: [{ requirements: { requiredCapacity: 'much' } }] } },
      'bundle.jobs[0].requirements.required_capacity: "much" is given where a number is expected, or "NaN", "Infinity" or "-Infinity".',
    ],
    [
      { bundle: { jobs: [{ requirements: { requiredCapabilities: [{ name: 'x', count: 1.5 }] } }] } },
      'bundle.jobs[0].requirements.required_capabilities[0].count: 1.5 is given where an int32 is expected, an integer from -2147483648 to 2147483647.',
    ],
    [
      { bundle: { jobs: [{ requirements: { requiredCapabilities: [{ name: 'x', count: 2 ** 31 }] } }] } },
      'bundle.jobs[0].requirements.required_capabilities[0].count: 2147483648 is given where an int32 is expected, an integer from -2147483648 to 2147483647.',
    ],
    [
      { bundle: { jobs: [{ launch: { legacy: { job: 7 } } }] } },
      'bundle.jobs[0].launch.legacy.job: 7 is given where an object (Struct) is expected.',
    ],
    [{ bundle: { job: [] } }, 'bundle.job: Bundle has no field "job"; did you mean "jobs"?'],
  ])('of the JSON itself are told by path too: %j', (request, fault) => {
    expect(faults(request)).toEqual([fault]);
  });
});
