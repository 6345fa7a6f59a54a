/** Reads a fit request: every condition checked, each fault named with its value and what would be right. */

import type { FitRequest, Shape, ShapePod } from '../../../gen/resourcemap/v1/capacity_pb.ts';
import type { HourlyPrice } from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import { ResourceMapError } from '../../errors.ts';
import { maxAgeOf } from '../../max-age.ts';
import { quote } from '../../quote.ts';
import { parseDecimal } from '../decimal.ts';
import { ALL_TARGETS, type TargetFilter } from '../view/filter.ts';
import type { ChainName } from '../view/pods.ts';
import type { MaxPrice, PodRequest, ShapeRequest } from './fit-request.ts';
import {
  DEFAULT_CANDIDATES,
  MAX_CANDIDATES,
  MAX_PODS_PER_CHAIN,
  MAX_RELEASED_CHAINS,
  MAX_SHAPES,
  MAX_WITHOUT_CLAIMS,
} from './limits.ts';

/** A chain of some cluster. */
export interface ClusterChain extends ChainName {
  readonly clusterId: string;
}

/** A request that makes sense. */
export interface ParsedFitRequest {
  readonly shapes: readonly ShapeRequest[];
  readonly filter: TargetFilter;
  readonly released: readonly ClusterChain[];
  readonly maxCandidates: number;
  /** Ids of claims that count as gone. */
  readonly withoutClaims: readonly string[];
  /** Nanoseconds; absent: clusters of any age count. */
  readonly maxAge: bigint | undefined;
}

/** @throws ResourceMapError `invalid_fit_request` */
export function parseFitRequest(request: FitRequest): ParsedFitRequest {
  const { shapes, released, maxCandidates, withoutClaims } = request;
  if (shapes.length === 0) throw invalid('shapes', 'is empty; ask for at least one shape');
  atMost('shapes', shapes.length, MAX_SHAPES);
  atMost('released', released.length, MAX_RELEASED_CHAINS);
  atMost('without_claims', withoutClaims.length, MAX_WITHOUT_CLAIMS);
  if (maxCandidates > MAX_CANDIDATES) {
    throw invalid('max_candidates', `is ${maxCandidates}; at most ${MAX_CANDIDATES} are given`);
  }
  return {
    shapes: shapes.map((shape, index) => readShape(shape, `shapes[${index}]`)),
    filter: request.filter ?? ALL_TARGETS,
    released: released.map((chain, index) => readChain(chain, `released[${index}]`)),
    maxCandidates: maxCandidates === 0 ? DEFAULT_CANDIDATES : maxCandidates,
    withoutClaims,
    maxAge: maxAgeOf(request.maxAge, (fault) => {
      throw invalid('max_age', fault);
    }),
  };
}

function readShape(shape: Shape, path: string): ShapeRequest {
  const { podRequirements } = shape;
  if (podRequirements.length === 0) {
    throw invalid(`${path}.pod_requirements`, 'is empty; name each pod of one chain');
  }
  atMost(`${path}.pod_requirements`, podRequirements.length, MAX_PODS_PER_CHAIN);
  if (shape.chains === 0) throw invalid(`${path}.chains`, 'is 0; ask for at least 1, or leave it out for 1');
  return {
    name: shape.name,
    chains: shape.chains ?? 1,
    pods: podRequirements.map((pod, index) => readPod(pod, `${path}.pod_requirements[${index}]`)),
    sameFabric: shape.sameFabric,
    sameZone: shape.sameZone,
  };
}

/** Reads the conditions of one pod. @throws ResourceMapError `invalid_fit_request` */
export function readPod(pod: ShapePod, path: string): PodRequest {
  if (pod.acceleratorCount === 0) {
    throw invalid(
      `${path}.accelerator_count`,
      'is 0; a pod that needs no accelerator fits anywhere and is not asked for',
    );
  }
  return {
    accelerators: pod.acceleratorCount,
    poolId: pod.poolId,
    nodeTypeId: pod.nodeTypeId,
    acceleratorModels: [pod.acceleratorModel, ...pod.acceleratorModels].filter((model) => model !== ''),
    instanceTypes: pod.instanceTypes,
    purchaseModels: pod.purchaseModels,
    zones: pod.zones,
    fabrics: pod.fabrics,
    rdmaReady: pod.rdmaReady,
    maxPrice: readMaxPrice(pod.maxPricePerNodeHour, `${path}.max_price_per_node_hour`),
  };
}

function readMaxPrice(price: HourlyPrice | undefined, path: string): MaxPrice | undefined {
  if (price === undefined) return undefined;
  if (!/^[A-Z]{3}$/.test(price.currencyCode)) {
    throw invalid(
      `${path}.currency_code`,
      `is ${quote(price.currencyCode)}; write three capital letters such as USD`,
    );
  }
  const amount = parseDecimal(price.decimalAmount);
  if (amount === undefined) {
    throw invalid(
      `${path}.decimal_amount`,
      `is ${quote(price.decimalAmount)}; write plain digits with at most one point, such as "12.50"`,
    );
  }
  return { currency: price.currencyCode, amount };
}

function readChain({ clusterId, jobId, rankId, chainId }: ClusterChain, path: string): ClusterChain {
  for (const [name, id] of Object.entries({
    cluster_id: clusterId,
    job_id: jobId,
    rank_id: rankId,
    chain_id: chainId,
  })) {
    if (id === '')
      throw invalid(`${path}.${name}`, 'is empty; a chain is named by cluster, job, rank and chain id');
  }
  return { clusterId, jobId, rankId, chainId };
}

function atMost(path: string, length: number, limit: number): void {
  if (length > limit) throw invalid(path, `has ${length} entries; at most ${limit} are answered`);
}

function invalid(path: string, fault: string): ResourceMapError {
  return new ResourceMapError('invalid_fit_request', `${path} ${fault}.`);
}
