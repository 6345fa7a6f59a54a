/** Fit questions in a few words. */

import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type CandidateFit,
  evaluateShapes,
  type ShapeFit,
} from '../../../../functions/core/capacity/fit/fit.ts';
import { parseFitRequest } from '../../../../functions/core/capacity/fit/parse-fit-request.ts';
import type { Taken } from '../../../../functions/core/capacity/fit/room.ts';
import { targetMatcher } from '../../../../functions/core/capacity/view/filter.ts';
import type { DatedView } from '../../../../functions/core/capacity/view/target-row.ts';
import { atOnce } from '../../../../functions/core/stepwise.ts';
import {
  FitRequestSchema,
  type ShapePodSchema,
  type ShapeSchema,
} from '../../../../functions/gen/resourcemap/v1/capacity_pb.ts';
import { plentyOfWork } from '../packing/problems.ts';

export type PodInit = MessageInitShape<typeof ShapePodSchema>;
export type ShapeInit = MessageInitShape<typeof ShapeSchema>;

/** Pods that may stand anywhere, of these numbers of accelerators. */
export function pods(...counts: readonly number[]): PodInit[] {
  return counts.map((acceleratorCount) => ({ acceleratorCount }));
}

/** Answers through the same reading of the request that the service does. */
export function ask(clusters: readonly DatedView[], ...shapes: readonly ShapeInit[]): readonly ShapeFit[] {
  const request = parseFitRequest(create(FitRequestSchema, { shapes: [...shapes] }));
  return atOnce(evaluateShapes(request.shapes, clusters, targetMatcher(request.filter), plentyOfWork()));
}

/** The answer for one shape behind pods that claims hold. */
export function askBehind(
  clusters: readonly DatedView[],
  taken: Taken,
  shape: ShapeInit,
): ShapeFit | undefined {
  const request = parseFitRequest(create(FitRequestSchema, { shapes: [shape] }));
  const accepts = targetMatcher(request.filter);
  return atOnce(evaluateShapes(request.shapes, clusters, accepts, plentyOfWork(), taken))[0];
}

/** The answer for one shape. */
export function askOne(clusters: readonly DatedView[], shape: ShapeInit): ShapeFit {
  const [response] = ask(clusters, shape);
  if (response === undefined) throw new Error('a shape has an answer');
  return response;
}

/** The first candidate's answer for one shape. */
export function first(clusters: readonly DatedView[], shape: ShapeInit): CandidateFit {
  const [candidate] = askOne(clusters, shape).candidates;
  if (candidate === undefined) throw new Error('the shape has a candidate');
  return candidate;
}

export function exactly(chains: number): { readonly atLeast: number; readonly atMost: number } {
  return { atLeast: chains, atMost: chains };
}
