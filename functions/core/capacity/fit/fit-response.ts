/** Fit answers as the API writes them. */
import { create } from '@bufbuild/protobuf';
import {
  type FitCandidate,
  FitCandidateSchema,
  type FitResponse,
  FitResponseSchema,
  type PackedNodes,
  PackedNodesSchema,
  type ShapeFit as ShapeFitMessage,
  ShapeFitSchema,
  type TargetReference,
  TargetReferenceSchema,
} from '../../../gen/resourcemap/v1/capacity_pb.ts';
import { timestampOf } from '../../timestamp.ts';
import { formatFraction } from '../decimal.ts';
import type { Bounds } from '../monotone.ts';
import { count } from '../view/histogram.ts';
import { numbersByKey } from '../view/target-row.ts';
import type { TargetView } from '../view/view.ts';
import type { CandidateFit, ShapeFit } from './fit.ts';
import type { RoomPacking } from './room.ts';
import type { GrownPacking } from './scale-out.ts';

/** @param maxCandidates candidates written for each shape; the others are counted */
export function fitResponse(
  responses: readonly ShapeFit[],
  maxCandidates: number,
  staleClusters: string[] = [],
): FitResponse {
  return create(FitResponseSchema, {
    staleClusters,
    shapes: responses.map((response) => shapeMessage(response, maxCandidates)),
  });
}

function shapeMessage(response: ShapeFit, maxCandidates: number): ShapeFitMessage {
  const { shape, fits, maxChains, candidates, reason } = response;
  const bounds = boundsOf(maxChains);
  return create(ShapeFitSchema, {
    name: shape.name,
    chains: shape.chains,
    ...(fits === undefined ? {} : { fits }),
    ...('exact' in bounds
      ? { maxChains: bounds.exact }
      : { maxChainsAtLeast: bounds.atLeast, maxChainsAtMost: bounds.atMost }),
    candidates: candidates.slice(0, maxCandidates).map(candidateMessage),
    omittedCandidates: Math.max(0, candidates.length - maxCandidates),
    reason,
  });
}

function candidateMessage(response: CandidateFit): FitCandidate {
  const { candidate, fits, fitsWithScaleOut, witness, scaleOut, cost, reason } = response;
  const bounds = boundsOf(response.maxChains);
  const price = cost === undefined ? undefined : formatFraction(cost.perHour);
  return create(FitCandidateSchema, {
    clusterId: candidate.cluster.view.clusterId,
    fabricId: candidate.fabricId,
    zone: candidate.zone,
    targets: candidate.targets.map(targetReference),
    ...(fits === undefined ? {} : { fits }),
    ...('exact' in bounds
      ? { maxChains: bounds.exact }
      : { maxChainsAtLeast: bounds.atLeast, maxChainsAtMost: bounds.atMost }),
    ...(fitsWithScaleOut === undefined ? {} : { fitsWithScaleOut }),
    ...scaleOutBounds(response.maxChainsWithScaleOut),
    scaleOutNodes: scaleOut === undefined ? [] : scaleOutNodes(scaleOut),
    witness: witness === undefined ? [] : packedNodes(witness),
    ...(cost === undefined || price === undefined
      ? {}
      : {
          pricePerHour: { currencyCode: cost.currency, decimalAmount: price.amount },
          priceRoundedUp: price.roundedUp,
        }),
    reason,
    logicalCounter: candidate.cluster.counter,
    collectedAt: timestampOf(candidate.cluster.collectedAtNanos),
  });
}

function targetReference({ poolId, nodeTypeId }: TargetView): TargetReference {
  return create(TargetReferenceSchema, { poolId, nodeTypeId });
}

function boundsOf({
  atLeast,
  atMost,
}: Bounds): { readonly exact: bigint } | { readonly atLeast: bigint; readonly atMost: bigint } {
  return atLeast === atMost
    ? { exact: BigInt(atLeast) }
    : { atLeast: BigInt(atLeast), atMost: BigInt(atMost) };
}

function scaleOutBounds(
  bounds: Bounds | undefined,
): Pick<
  FitCandidate,
  'maxChainsWithScaleOut' | 'maxChainsWithScaleOutAtLeast' | 'maxChainsWithScaleOutAtMost'
> {
  if (bounds === undefined) return {};
  const known = boundsOf(bounds);
  return 'exact' in known
    ? { maxChainsWithScaleOut: known.exact }
    : { maxChainsWithScaleOutAtLeast: known.atLeast, maxChainsWithScaleOutAtMost: known.atMost };
}

function scaleOutNodes({ packing: { room }, newNodes }: GrownPacking): FitCandidate['scaleOutNodes'] {
  return create(FitCandidateSchema, {
    scaleOutNodes: [...newNodes].map(([index, nodes]) => {
      const target = room.candidate.targets[index];
      return {
        poolId: target?.poolId ?? '',
        nodeTypeId: target?.nodeTypeId ?? '',
        nodes: BigInt(nodes),
        pendingNodes: BigInt(Math.min(nodes, target?.pendingNodes ?? 0)),
      };
    }),
  }).scaleOutNodes;
}

/** The nodes of a packing on which the question's pods stand. */
function packedNodes({ room, packing }: RoomPacking): PackedNodes[] {
  const { candidate } = room;
  return packing.flatMap(({ bin, bins, items }) => {
    const nodes = room.bins[bin];
    const target = candidate.targets[nodes?.target ?? -1];
    if (nodes === undefined || target === undefined) return [];
    const demand = new Map<number, number>();
    const pods: { podIndex: number; acceleratorCount: number; pods: number }[] = [];
    for (const { item, count: each } of items) {
      const asked = candidate.classes[item - room.demandClasses];
      if (asked === undefined) count(demand, room.demandClass(item)?.size ?? 0, each);
      else pods.push({ podIndex: asked.podIndex, acceleratorCount: asked.accelerators, pods: each });
    }
    if (pods.length === 0) return [];
    return create(PackedNodesSchema, {
      poolId: target.poolId,
      nodeTypeId: target.nodeTypeId,
      nodes: BigInt(bins),
      free: nodes.size,
      demandPods: numbersByKey(demand),
      pods,
    });
  });
}
