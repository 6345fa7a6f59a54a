/**
 * Document order: as fields are numbered in the contract and elements stand in the
 * snapshot, a message before what it contains.
 */
import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { ClusterResourceMapSchema } from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import { capFindings, type Findings } from '../../findings.ts';
import { MAX_FINDINGS } from '../limits.ts';

/** Negative where the field path `a` stands before `b`, 0 where both are the same. */
export function comparePaths(a: string, b: string): number {
  return compareKeys(orderKey(a), orderKey(b));
}

/**
 * Joins what several checks found of one snapshot, in document order, and keeps the
 * first `maxFindings` of it, rejects before warnings. Findings that one check left out for its own cap are
 * counted, but cannot come back.
 */
export function mergeFindings(parts: readonly Findings[], maxFindings: number = MAX_FINDINGS): Findings {
  const found = parts.filter((part) => part.rejects + part.warnings > 0);
  const [only] = found;
  if (only !== undefined && found.length === 1 && only.findings.length <= maxFindings) return only;
  const keyed = found.flatMap((part) =>
    part.findings.map((finding) => ({ finding, key: orderKey(finding.path) })),
  );
  // The sort is stable: findings of one path stay in the order in which the checks found them.
  keyed.sort((a, b) => compareKeys(a.key, b.key));
  const findings = capFindings(
    keyed.map(({ finding }) => finding),
    maxFindings,
  );
  const rejects = found.reduce((sum, part) => sum + part.rejects, 0);
  const warnings = found.reduce((sum, part) => sum + part.warnings, 0);
  return { findings, omitted: rejects + warnings - findings.length, rejects, warnings };
}

/** Field numbers and positions, from the outside in. */
type OrderKey = readonly number[];

function orderKey(path: string): OrderKey {
  const key: number[] = [];
  let message: DescMessage | undefined = ClusterResourceMapSchema;
  for (const [, name, position] of path.matchAll(/([a-z_]+)(?:\[(\d+)\])?/g)) {
    const field: DescField | undefined = message?.fields.find((candidate) => candidate.name === name);
    key.push(field?.number ?? 0);
    if (position !== undefined) key.push(Number(position));
    message = field?.message;
  }
  return key;
}

function compareKeys(a: OrderKey, b: OrderKey): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const order = (a[i] ?? 0) - (b[i] ?? 0);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}
