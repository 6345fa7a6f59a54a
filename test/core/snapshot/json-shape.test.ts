import type { JsonValue } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { FindingCollector, type Findings } from '../../../functions/core/findings.ts';
import { checkJsonShape } from '../../../functions/core/snapshot/json-shape.ts';
import {
  JobRequirementsSchema,
  LaunchSpecSchema,
} from '../../../functions/gen/resourcemap/bundle/v1/bundle_pb.ts';
import { ClusterResourceMapSchema } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';

function shape(text: string): Findings {
  const problems = new FindingCollector();
  checkJsonShape(ClusterResourceMapSchema, JSON.parse(text), problems);
  return problems.result();
}

/** JSON text, and the code, path and message of the one fault in it. */
const FAULTS: readonly (readonly [json: string, code: string, path: string, message: string])[] = [
  ['null', 'invalid_value', '', 'null is given where an object (ClusterResourceMap) is expected.'],
  ['[]', 'invalid_value', '', 'an array is given where an object (ClusterResourceMap) is expected.'],
  ['"{}"', 'invalid_value', '', '"{}" is given where an object (ClusterResourceMap) is expected.'],
  ['5', 'invalid_value', '', '5 is given where an object (ClusterResourceMap) is expected.'],
  [
    '{"logicalCouter":"1"}',
    'unknown_field',
    'logicalCouter',
    'ClusterResourceMap has no field "logicalCouter"; did you mean "logicalCounter"?',
  ],
  [
    '{"capacity_pools":[{"nodeTypes":[{"totalCnt":1}]}]}',
    'unknown_field',
    'capacity_pools[0].node_types[0].totalCnt',
    'NodeTypeCapacity has no field "totalCnt"; did you mean "totalCount"?',
  ],
  [
    '{"__proto__":{"clusterId":"c1"}}',
    'unknown_field',
    '__proto__',
    'ClusterResourceMap has no field "__proto__"; leave it out.',
  ],
  [
    '{"logicalCounter":"1","logical_counter":"2"}',
    'invalid_value',
    'logical_counter',
    'The field is given twice, as "logicalCounter" and as "logical_counter"; give it once.',
  ],
  [
    '{"logicalCounter":null,"logical_counter":"2"}',
    'invalid_value',
    'logical_counter',
    'The field is given twice, as "logicalCounter" and as "logical_counter"; give it once.',
  ],
  [
    '{"cluster":[]}',
    'invalid_value',
    'cluster',
    'an array is given where an object (ClusterIdentity) is expected.',
  ],
  [
    '{"cluster":{"clusterId":7}}',
    'invalid_value',
    'cluster.cluster_id',
    '7 is given where a string is expected.',
  ],
  [
    '{"cluster":{"clusterId":"\\ud800"}}',
    'invalid_value',
    'cluster.cluster_id',
    '"\\ud800" is given where a string without unpaired surrogates is expected.',
  ],
  ['{"jobs":{}}', 'invalid_value', 'jobs', 'an object is given where an array is expected.'],
  ['{"jobs":[null]}', 'invalid_value', 'jobs[0]', 'null is given where an object (JobState) is expected.'],
  [
    '{"apiResources":[{"servedVersions":["v1",null]}]}',
    'invalid_value',
    'api_resources[0].served_versions[1]',
    'null is given where a string is expected.',
  ],
  [
    '{"jobs":[{"ranks":[{"runtime":{"engineParameters":["a"]}}]}]}',
    'invalid_value',
    'jobs[0].ranks[0].runtime.engine_parameters',
    'an array is given where an object is expected.',
  ],
  [
    '{"jobs":[{"ranks":[{"runtime":{"engineParameters":{"a\\"b":1}}}]}]}',
    'invalid_value',
    'jobs[0].ranks[0].runtime.engine_parameters["a\\"b"]',
    '1 is given where a string is expected.',
  ],
  [
    '{"capacityPools":[{"autoscalingEnabled":"true"}]}',
    'invalid_value',
    'capacity_pools[0].autoscaling_enabled',
    '"true" is given where true or false is expected.',
  ],
  [
    '{"capacityPools":[{"minNodes":-1}]}',
    'invalid_value',
    'capacity_pools[0].min_nodes',
    '-1 is given where a uint32 is expected, an integer from 0 to 4294967295.',
  ],
  [
    '{"capacityPools":[{"minNodes":1.5}]}',
    'invalid_value',
    'capacity_pools[0].min_nodes',
    '1.5 is given where a uint32 is expected, an integer from 0 to 4294967295.',
  ],
  [
    '{"capacityPools":[{"minNodes":4294967296}]}',
    'invalid_value',
    'capacity_pools[0].min_nodes',
    '4294967296 is given where a uint32 is expected, an integer from 0 to 4294967295.',
  ],
  [
    '{"capacityPools":[{"minNodes":1e30}]}',
    'invalid_value',
    'capacity_pools[0].min_nodes',
    '1e+30 is given where a uint32 is expected, an integer from 0 to 4294967295.',
  ],
  [
    '{"capacityPools":[{"minNodes":1e999}]}',
    'invalid_value',
    'capacity_pools[0].min_nodes',
    'Infinity is given where a uint32 is expected, an integer from 0 to 4294967295.',
  ],
  [
    '{"capacityPools":[{"minNodes":" 1"}]}',
    'invalid_value',
    'capacity_pools[0].min_nodes',
    '" 1" is given where a uint32 is expected, an integer from 0 to 4294967295.',
  ],
  [
    '{"logicalCounter":18446744073709551614}',
    'invalid_value',
    'logical_counter',
    '18446744073709552000 is given where a uint64 is expected, an integer from 0 to 18446744073709551615.',
  ],
  [
    '{"logicalCounter":9007199254740993}',
    'invalid_value',
    'logical_counter',
    '9007199254740992 is given where a string of digits is expected: a JSON number beyond 2^53 may have lost its last digits.',
  ],
  [
    '{"logicalCounter":"18446744073709551616"}',
    'invalid_value',
    'logical_counter',
    '"18446744073709551616" is given where a uint64 is expected, an integer from 0 to 18446744073709551615.',
  ],
  [
    '{"logicalCounter":""}',
    'invalid_value',
    'logical_counter',
    '"" is given where a uint64 is expected, an integer from 0 to 18446744073709551615.',
  ],
  [
    '{"jobs":[{"workloadKind":"WORKLOAD_KIND_BATHC"}]}',
    'invalid_value',
    'jobs[0].workload_kind',
    '"WORKLOAD_KIND_BATHC" is given where a WorkloadKind is expected; did you mean "WORKLOAD_KIND_BATCH"?',
  ],
  [
    // Never the name that says nothing, though it is the nearest.
    '{"jobs":[{"workloadKind":"WORKLOAD_KIND_UNSPECIFED"}]}',
    'invalid_value',
    'jobs[0].workload_kind',
    '"WORKLOAD_KIND_UNSPECIFED" is given where a WorkloadKind is expected; send one of WORKLOAD_KIND_ONLINE, WORKLOAD_KIND_BATCH.',
  ],
  [
    '{"jobs":[{"workloadKind":1.5}]}',
    'invalid_value',
    'jobs[0].workload_kind',
    '1.5 is given where the name of a WorkloadKind is expected, such as "WORKLOAD_KIND_BATCH".',
  ],
  [
    '{"jobs":[{"workloadKind":2147483648}]}',
    'invalid_value',
    'jobs[0].workload_kind',
    '2147483648 is given where the name of a WorkloadKind is expected, such as "WORKLOAD_KIND_BATCH".',
  ],
  ...[
    '2026-01-31',
    '2026-01-31T12:00:00',
    '2026-02-30T12:00:00Z',
    '2026-01-31T24:00:00Z',
    '0000-01-01T00:00:00Z',
  ].map(
    (text) =>
      [
        `{"collectedAt":"${text}"}`,
        'invalid_value',
        'collected_at',
        `"${text}" is given where an RFC 3339 timestamp of the years 1 to 9999 is expected, such as "2026-01-31T12:00:00Z".`,
      ] as const,
  ),
  [
    '{"collectedAt":1767225600}',
    'invalid_value',
    'collected_at',
    '1767225600 is given where an RFC 3339 timestamp of the years 1 to 9999 is expected, such as "2026-01-31T12:00:00Z".',
  ],
  [
    '{"capacityPools":[{"nodeTypes":[{"maxRunDuration":"1h"}]}]}',
    'invalid_value',
    'capacity_pools[0].node_types[0].max_run_duration',
    '"1h" is given where a duration in seconds is expected, such as "3600s".',
  ],
];

describe('the shape of ProtoJSON', () => {
  it.each(FAULTS)('%s is refused as %s at "%s"', (json, code, path, message) => {
    expect(shape(json)).toEqual({
      findings: [{ code, severity: 'reject', path, message }],
      omitted: 0,
      rejects: 1,
      warnings: 0,
    });
  });

  it.each([
    '{}',
    '{"cluster":null,"collectedAt":null,"jobs":null,"logicalCounter":null}',
    '{"logicalCounter":"18446744073709551614"}',
    '{"logicalCounter":9007199254740991}',
    '{"logical_counter":1e2}',
    '{"collectedAt":"2024-02-29T23:59:59.123456789+05:30"}',
    '{"jobs":[{"workloadKind":"WORKLOAD_KIND_BATCH"},{"workloadKind":2},{"workloadKind":77}]}',
    '{"jobs":[{"ranks":[{"runtime":{"engineParameters":{"__proto__":"x","constructor":"y"}}}]}]}',
  ])('%s is one', (json) => {
    expect(shape(json).findings).toEqual([]);
  });

  it('reports every fault, in document order', () => {
    const { findings } = shape('{"jobs":[{"x":1},{"ranks":5}],"logicalCounter":-1,"y":2}');
    expect(findings.map((f) => [f.code, f.path])).toEqual([
      ['unknown_field', 'jobs[0].x'],
      ['invalid_value', 'jobs[1].ranks'],
      ['invalid_value', 'logical_counter'],
      ['unknown_field', 'y'],
    ]);
  });

  it('keeps a thousand findings and counts the rest', () => {
    const { findings, rejects, omitted } = shape(JSON.stringify({ jobs: Array(2_500).fill(1) }));
    expect([findings.length, rejects, omitted]).toEqual([1_000, 2_500, 1_500]);
  });

  it('cuts a long name and a long value in what it says of them', () => {
    const { findings } = shape(JSON.stringify({ ['n'.repeat(10_000)]: 1, jobs: 'v'.repeat(10_000) }));
    const [name, value] = findings;
    expect(name?.path).toBe(`${'n'.repeat(80)}…`);
    expect(name?.message.length).toBeLessThan(300);
    expect(value?.message).toBe(
      `"${'v'.repeat(128)}"… (10000 characters) is given where an array is expected.`,
    );
  });
});

describe('a message that is one of several things', () => {
  it('is said how to write where it names its kind', () => {
    const problems = new FindingCollector();
    checkJsonShape(LaunchSpecSchema, { kind: 'product_template', ref: 'r' }, problems);
    expect(problems.result().findings.map(({ message }) => message)).toEqual([
      'LaunchSpec has no field "kind"; give {"productTemplate": {…}} or {"legacy": {…}}.',
      'LaunchSpec has no field "ref"; give {"productTemplate": {…}} or {"legacy": {…}}.',
    ]);
  });
});

describe('a double', () => {
  const faultsOf = (requiredCapacity: unknown): number => {
    const problems = new FindingCollector();
    checkJsonShape(JobRequirementsSchema, { requiredCapacity } as JsonValue, problems);
    return problems.result().findings.length;
  };

  it.each([0, -1.5, 1e300, '1.5', '-2e-3', 'NaN', 'Infinity', '-Infinity'])('may be %j', (value) => {
    expect(faultsOf(value)).toBe(0);
  });

  it.each(['0x10', '', ' 1', '1.', '.5', '1e999', 'nan', true, []])('is not %j', (value) => {
    expect(faultsOf(value)).toBe(1);
  });
});
