/**
 * What the rule book costs, against decoding the same bytes: a gate that costs less
 * than reading what passes through it is no reason to leave it open.
 *
 *     npm run bench:rules
 *
 * Each round decodes again and validates what it decoded, since strings that were
 * looked up before are found faster than those of a push ever are. Figures are medians
 * of the process's own CPU time, which other processes on the machine disturb less than
 * they do the clock's; it includes the garbage collector's threads. The last column is
 * the cost of validation per message of the snapshot: linear means that it stays level
 * while the snapshot grows, but for what larger heaps cost in cache misses and in
 * garbage collection, which decoding pays as well.
 */
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { checkSnapshot } from '../../functions/core/snapshot/rules/index.ts';
import { ClusterResourceMapSchema } from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { cpuMs, median } from './cpu.ts';
import { fullCluster, FULL_CLUSTER_MS as NOW_MS } from './full-cluster.ts';
import { SHORT } from './short.ts';

const NODES = [100, 1_000, 10_000];
const JOBS = [10, 1_000, 20_000];

/** Messages in the snapshot, nested ones included. */
function countMessages(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, element) => sum + countMessages(element), 0);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, field) => sum + countMessages(field), 1);
}

function measure(nodes: number, jobs: number) {
  const snapshot = fullCluster(nodes, jobs);
  const bytes = toBinary(ClusterResourceMapSchema, snapshot);
  const decode: number[] = [];
  const validate: number[] = [];
  const until = performance.now() + (SHORT ? 0 : 2_000);
  while (decode.length < 7 || performance.now() < until) {
    const start = cpuMs();
    const decoded = fromBinary(ClusterResourceMapSchema, bytes);
    const between = cpuMs();
    const { rejects, warnings } = checkSnapshot(decoded, { nowMs: NOW_MS });
    const end = cpuMs();
    if (rejects + warnings > 0) throw new Error('The snapshot of the bench must break no rule.');
    decode.push(between - start);
    validate.push(end - between);
  }
  const messages = countMessages(snapshot);
  const decodeMs = median(decode);
  const validateMs = median(validate);
  return {
    nodes,
    jobs,
    'KB encoded': Math.round(bytes.length / 1_000),
    'decode ms': decodeMs.toFixed(3),
    'validate ms': validateMs.toFixed(3),
    'validate / decode': (validateMs / decodeMs).toFixed(2),
    'decode ns / message': Math.round((decodeMs * 1e6) / messages),
    'validate ns / message': Math.round((validateMs * 1e6) / messages),
  };
}

for (let warmUp = 0; warmUp < (SHORT ? 1 : 200); warmUp++) {
  checkSnapshot(fullCluster(100, 10), { nowMs: NOW_MS });
}
console.table(NODES.flatMap((nodes) => JOBS.map((jobs) => measure(nodes, jobs))));
