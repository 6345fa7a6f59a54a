/** Enum numbers that this version does not know come from a newer agent: kept as sent, and said. */
import {
  PurchaseModelSchema,
  WorkloadKindSchema,
  WorkloadPhaseSchema,
  type WorkloadStatus,
} from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import type { FindingCollector } from '../../findings.ts';
import { rulesOf, warn } from './rule.ts';

export const enumRules = rulesOf({
  unknown_enum_value: warn(
    [
      'capacity_pools[].node_types[].purchase_model',
      'jobs[].workload_kind',
      'jobs[].ranks[].chains[].pods[].status.phase',
      'jobs[].ranks[].chains[].status.phase',
      'jobs[].ranks[].status.phase',
      'jobs[].status.phase',
    ],
    'An enum has one of the values of its type. Others are kept as sent, and mean nothing to this service.',
  ),
});

type KnownEnum = typeof PurchaseModelSchema | typeof WorkloadKindSchema | typeof WorkloadPhaseSchema;

const LAST_PHASE = lastOf(WorkloadPhaseSchema);
const LAST_KIND = lastOf(WorkloadKindSchema);
const LAST_PURCHASE_MODEL = lastOf(PurchaseModelSchema);

/** The contract numbers each of its enums from 0 without gaps, so that a comparison does for a lookup. */
function lastOf(schema: KnownEnum): number {
  return schema.values.length - 1;
}

export const isKnownPhase = (value: number): boolean => value >= 0 && value <= LAST_PHASE;
export const isKnownKind = (value: number): boolean => value >= 0 && value <= LAST_KIND;
export const isKnownPurchaseModel = (value: number): boolean => value >= 0 && value <= LAST_PURCHASE_MODEL;

/** Reports the enum field `field` of the message at `path`. */
export function reportUnknownEnum(
  schema: KnownEnum,
  value: number,
  path: () => string,
  field: string,
  out: FindingCollector,
): void {
  out.report(
    enumRules.unknown_enum_value,
    () => `${path()}.${field}`,
    () =>
      `${field} is ${value}, which is no ${schema.name} that is known here (0 to ${lastOf(schema)}); it is kept as sent`,
  );
}

/** Checks the phase of a status, where there is one. */
export function checkPhase(
  status: WorkloadStatus | undefined,
  owner: { readonly path: string },
  out: FindingCollector,
): void {
  if (status === undefined || isKnownPhase(status.phase)) return;
  reportUnknownEnum(WorkloadPhaseSchema, status.phase, () => `${owner.path}.status`, 'phase', out);
}
