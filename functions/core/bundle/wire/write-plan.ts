/** Answers as messages of the wire. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type ValidationResult,
  ValidationResultSchema,
} from '../../../gen/resourcemap/bundle/v1/bundle_pb.ts';
import {
  type BundlePlanSchema,
  type CopyPlanSchema,
  type NodeRefSchema,
  type NodeServicePlanSchema,
  type PlanResponse,
  PlanResponseSchema,
} from '../../../gen/resourcemap/bundle/v1/plan_pb.ts';
import type {
  BundlePlan,
  NodeRef,
  NodeServicePlan,
  PlacedCopy,
  UnplacedCopy,
  UnplacedJob,
} from '../plan/plan-model.ts';
import type { RequestPlan } from '../plan/plan-request.ts';
import type { BundleValidation } from '../validate/validate.ts';

/** @param etag of the map; empty where none was read */
export function validationMessage(found: BundleValidation, etag: string): ValidationResult {
  return create(ValidationResultSchema, {
    errors: found.errors.map((f) => ({ ...f })),
    warnings: found.warnings.map((f) => ({ ...f })),
    advice: found.advice.map((f) => ({ ...f })),
    etag,
  });
}

/** @param etag of the map; empty where none was read */
export function planMessage(
  { bundles, services }: RequestPlan,
  etag: string,
  staleClusters: string[] = [],
): PlanResponse {
  return create(PlanResponseSchema, {
    bundles: bundles.map(bundleFields),
    services: services.map(serviceFields),
    etag,
    staleClusters,
  });
}

function bundleFields(plan: BundlePlan): MessageInitShape<typeof BundlePlanSchema> {
  const { bundleId, outcome, message } = plan;
  return {
    bundleId,
    outcome,
    message,
    ...('copies' in plan ? { copies: plan.copies.map(copyFields) } : {}),
    ...('findings' in plan ? { findings: plan.findings.map((f) => ({ ...f })) } : {}),
  };
}

function copyFields(copy: PlacedCopy | UnplacedCopy): MessageInitShape<typeof CopyPlanSchema> {
  if (copy.outcome !== 'placed') {
    return { copy: copy.copy, outcome: copy.outcome, unplaced: copy.unplaced.map(unplacedFields) };
  }
  return {
    copy: copy.copy,
    outcome: copy.outcome,
    placements: copy.placements.map((p) => ({
      ...p,
      node: nodeFields(p.node),
      gpuIndexes: [...p.gpuIndexes],
      unverified: [...p.unverified],
    })),
    degraded: copy.degraded.map((d) => ({ ...d, jobs: [...d.jobs] })),
  };
}

function unplacedFields({ jobName, filter, counts, message, wouldFit }: UnplacedJob) {
  return { jobName, filter, counts: countFields(counts), message, wouldFit: wouldFit.map((w) => ({ ...w })) };
}

const MAX_UINT32 = 0xffff_ffff;

/** More nodes than a uint32 holds stay the most that it holds. */
function countFields(counts: UnplacedJob['counts']) {
  return counts.map(({ filter, left }) => ({ filter, left: Math.min(left, MAX_UINT32) }));
}

function nodeFields({
  clusterId,
  poolId,
  nodeTypeId,
  node,
}: NodeRef): MessageInitShape<typeof NodeRefSchema> {
  return {
    clusterId,
    poolId,
    nodeTypeId,
    node:
      node.kind === 'inventory'
        ? { case: 'nodeId', value: node.nodeId }
        : { case: 'slot', value: { number: node.number, freeAccelerators: node.freeAccelerators } },
  };
}

function serviceFields(plan: NodeServicePlan): MessageInitShape<typeof NodeServicePlanSchema> {
  const { serviceId, outcome } = plan;
  if (plan.outcome === 'deferred') return { serviceId, outcome };
  return {
    serviceId,
    outcome,
    placements: plan.placements.map((p) => ({ ...p, node: nodeFields(p.node) })),
    running: Math.min(plan.running, MAX_UINT32),
    counts: countFields(plan.counts),
    unknownPools: [...plan.unknownPools],
  };
}
