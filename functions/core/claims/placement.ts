/** Where the chains of a new claim are placed: taken from the packing that shows that they fit. */
import { create } from '@bufbuild/protobuf';
import {
  type HeldChains,
  HeldChainsSchema,
  type HeldRank,
  HeldRankSchema,
  type HeldTarget,
  HeldTargetSchema,
  PodRunSchema,
} from '../../gen/resourcemap/v1/ledger_pb.ts';
import type { Candidate } from '../capacity/fit/candidate.ts';
import type { PodRequest, ShapeRequest } from '../capacity/fit/fit-request.ts';
import { mismatch } from '../capacity/fit/match.ts';
import type { RoomPacking } from '../capacity/fit/room.ts';
import type { ParsedClaim, ParsedRank } from './claim-request.ts';

/**
 * All chains of all ranks as one shape. Chains of different ranks are packed together, exactly; with one
 * rank, or several of as many chains, the shape's chains are the claim's.
 */
export function shapeOf({
  ranks,
  sameFabric,
  sameZone,
}: Pick<ParsedClaim, 'ranks' | 'sameFabric' | 'sameZone'>): ShapeRequest {
  const chains = ranks.reduce((divisor, rank) => greatestCommonDivisor(divisor, rank.chains), 0);
  return {
    name: '',
    chains,
    pods: ranks.flatMap(({ pods }) => pods),
    copies: ranks.flatMap((rank) => rank.pods.map(() => rank.chains / chains)),
    sameFabric,
    sameZone,
  };
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

/** What a hold keeps of its placement. */
export interface Placement {
  readonly ranks: readonly HeldRank[];
  readonly targets: readonly HeldTarget[];
}

/**
 * Deals the pods of a packing out to the chains: which of the pods that ask for the same stands where does
 * not matter, so each takes the next place of its class.
 */
export function placementOf(ranks: readonly ParsedRank[], packed: RoomPacking): Placement {
  const { candidate } = packed.room;
  const places = placesByClass(packed);
  const targets: number[] = [];
  const held = ranks.map((rank) => {
    const classes = rank.pods.map((pod) => places.get(className(candidate, pod)));
    const placements: HeldChains[] = [];
    for (let chain = 0; chain < rank.chains; chain++) {
      const placed = classes.map((places) => {
        const target = places?.next();
        if (target === undefined)
          throw new Error('A packing has fewer pods than the claim that it shows to fit.');
        if (!targets.includes(target)) targets.push(target);
        return targets.indexOf(target);
      });
      const one = chainOf(rank.pods, placed);
      const last = placements.at(-1);
      if (last !== undefined && sameRuns(last, one)) last.chains++;
      else placements.push(one);
    }
    const { rankId, chains, chainIds } = rank;
    return create(HeldRankSchema, { rankId, chains, chainIds: [...chainIds], placements });
  });
  return {
    ranks: held,
    targets: targets.map((index) => {
      const target = candidate.targets[index];
      return create(HeldTargetSchema, { poolId: target?.poolId ?? '', nodeTypeId: target?.nodeTypeId ?? '' });
    }),
  };
}

function chainOf(pods: readonly PodRequest[], placed: readonly number[]): HeldChains {
  const runs: HeldChains['runs'] = [];
  for (const [index, { accelerators }] of pods.entries()) {
    const target = placed[index] ?? 0;
    const last = runs.at(-1);
    if (last?.target === target && last.accelerators === accelerators) last.pods++;
    else runs.push(create(PodRunSchema, { pods: 1, accelerators, target }));
  }
  return create(HeldChainsSchema, { chains: 1, runs });
}

function sameRuns(a: HeldChains, b: HeldChains): boolean {
  return (
    a.runs.length === b.runs.length &&
    a.runs.every((run, index) => {
      const other = b.runs[index];
      return (
        run.pods === other?.pods && run.accelerators === other.accelerators && run.target === other.target
      );
    })
  );
}

/** Places of one class of pods, lowest target first. */
class Places {
  readonly #left: { readonly target: number; pods: number }[];

  constructor(byTarget: ReadonlyMap<number, number>) {
    this.#left = [...byTarget].sort(([a], [b]) => a - b).map(([target, pods]) => ({ target, pods }));
  }

  next(): number | undefined {
    const [first] = this.#left;
    if (first === undefined) return undefined;
    first.pods--;
    if (first.pods === 0) this.#left.shift();
    return first.target;
  }
}

function placesByClass({ room, packing }: RoomPacking): ReadonlyMap<string, Places> {
  const pods = room.candidate.classes.map(() => new Map<number, number>());
  for (const { bin, bins, items } of packing) {
    const target = room.bins[bin]?.target;
    for (const { item, count } of items) {
      const on = pods[item - room.demandClasses];
      if (on !== undefined && target !== undefined) on.set(target, (on.get(target) ?? 0) + count * bins);
    }
  }
  return new Map(
    room.candidate.classes.map(({ accelerators, targets }, index) => [
      `${accelerators}:${targets.join(',')}`,
      new Places(pods[index] ?? new Map()),
    ]),
  );
}

/** Pods that take the same and may stand in the same targets are one class of a candidate. */
function className({ targets }: Candidate, pod: PodRequest): string {
  const open = targets.flatMap((target, index) =>
    target.eligible && mismatch(target, pod) === undefined ? [index] : [],
  );
  return `${pod.accelerators}:${open.join(',')}`;
}
