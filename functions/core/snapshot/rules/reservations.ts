/** Section *Reservations*: chains to come, of a rank that is there. */
import type { AutoscalingReservation } from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import type { FindingCollector } from '../../findings.ts';
import { quote } from '../../quote.ts';
import { isValidId, reportInvalidId } from './ids.ts';
import { reject, rulesOf, warn } from './rule.ts';
import type { NodeTypeEntry, RankEntry, SnapshotIndex } from './snapshot-index.ts';

const RESERVATION = 'capacity_pools[].node_types[].reserved_for_autoscaling[]';

export const reservationRules = rulesOf({
  reservation_on_ineligible_type: warn(
    RESERVATION,
    'The node type is eligible. `eligible_for_tandemn` false forbids new placement only: what runs there stays legal.',
  ),
  unknown_reservation_rank: reject(
    [`${RESERVATION}.job_id`, `${RESERVATION}.rank_id`],
    'The job and its rank are in `jobs`: without them the reservation has no shape.',
  ),
  zero_reservation: reject(`${RESERVATION}.additional_chains`, '`additional_chains` is at least 1.'),
  duplicate_reservation: reject(
    RESERVATION,
    'A rank is reserved at most once on a node type. Needs a rank that is there (`unknown_reservation_rank`).',
  ),
  reservation_off_target: reject(
    RESERVATION,
    'The rank has a pod requirement on this node type. Needs a rank that is there (`unknown_reservation_rank`) and whose requirements all name a node type that is there (`unknown_requirement_target`).',
  ),
  reservation_incomplete: reject(
    [RESERVATION, `${RESERVATION}.additional_chains`],
    'A rank that spans node types is reserved on every one of them, with the same count: it is one number of chains, not to be added up. What is missing is reported at the rank’s first reservation, another count where it stands.',
  ),
  reservation_above_max: warn(
    `${RESERVATION}.additional_chains`,
    'The rank’s chains that have not ended and `additional_chains` are together at most `max_chains`.',
  ),
});

/** A reservation and where it is. */
class ReservationEntry {
  constructor(
    readonly reservation: AutoscalingReservation,
    readonly nodeType: NodeTypeEntry,
    readonly position: number,
    /** What the ids of the node type stand for: itself, unless they are those of an earlier one. */
    readonly target: NodeTypeEntry,
  ) {}

  get path(): string {
    return `${this.nodeType.path}.reserved_for_autoscaling[${this.position}]`;
  }
}

/** All that is reserved for one rank. */
class ReservedRank {
  /** The first reservation on each node type, in document order. */
  readonly byNodeType = new Map<NodeTypeEntry, ReservationEntry>();
  readonly reservedTypes = new Set<NodeTypeEntry>();
  /** The node types that the pods of a chain stand on, in the order of the requirements. */
  readonly spannedTypes = new Set<NodeTypeEntry>();
  /** Whether that is all: a rank that requires nothing, or a node type that is not there, is refused as such. */
  readonly spansKnownTypes: boolean;
  #leading: ReservationEntry | undefined;

  constructor(
    readonly rank: RankEntry,
    index: SnapshotIndex,
  ) {
    const requirements = rank.rank.podRequirements;
    let unknownTargets = 0;
    for (const { poolId, nodeTypeId } of requirements) {
      const target = index.nodeTypeById(poolId, nodeTypeId);
      if (target === undefined) unknownTargets++;
      else this.spannedTypes.add(target);
    }
    this.spansKnownTypes = requirements.length > 0 && unknownTargets === 0;
  }

  add(entry: ReservationEntry): void {
    if (this.byNodeType.has(entry.nodeType)) return;
    this.byNodeType.set(entry.nodeType, entry);
    this.reservedTypes.add(entry.target);
    if (entry.reservation.additionalChains > 0 && this.spannedTypes.has(entry.target))
      this.#leading ??= entry;
  }

  get spans(): boolean {
    return this.spannedTypes.size > 1;
  }

  /**
   * The reservation whose count the others must have, where the rank spans node
   * types: the first on one of them. One of 0 chains is refused for that alone.
   */
  get leading(): ReservationEntry | undefined {
    return this.spans ? this.#leading : undefined;
  }
}

/** Every reservation by its rank: whether one is complete shows only beside all the others of the rank. */
export class ReservationIndex {
  readonly #byRank = new Map<RankEntry, ReservedRank>();

  constructor(readonly index: SnapshotIndex) {
    for (const pool of index.pools) {
      for (const nodeType of pool.nodeTypes.list) this.#addAll(nodeType);
    }
  }

  reservedFor({ jobId, rankId }: AutoscalingReservation): ReservedRank | undefined {
    const rank = this.index.rankById(jobId, rankId);
    return rank === undefined ? undefined : this.#byRank.get(rank);
  }

  /** The reservations on a node type, in document order. */
  entriesOf(nodeType: NodeTypeEntry): readonly ReservationEntry[] {
    const { reservedForAutoscaling } = nodeType.type;
    if (reservedForAutoscaling.length === 0) return [];
    const target = this.index.nodeTypeById(nodeType.pool.id, nodeType.id) ?? nodeType;
    return reservedForAutoscaling.map(
      (reservation, position) => new ReservationEntry(reservation, nodeType, position, target),
    );
  }

  #addAll(nodeType: NodeTypeEntry): void {
    for (const entry of this.entriesOf(nodeType)) {
      const { jobId, rankId } = entry.reservation;
      const rank = this.index.rankById(jobId, rankId);
      if (rank === undefined) continue;
      let reserved = this.#byRank.get(rank);
      if (reserved === undefined) {
        reserved = new ReservedRank(rank, this.index);
        this.#byRank.set(rank, reserved);
      }
      reserved.add(entry);
    }
  }
}

/** Checks the entries of `reserved_for_autoscaling`. */
export function checkReservations(
  nodeType: NodeTypeEntry,
  reservations: ReservationIndex,
  out: FindingCollector,
): void {
  for (const entry of reservations.entriesOf(nodeType)) {
    if (!nodeType.type.eligibleForTandemn) {
      out.report(
        reservationRules.reservation_on_ineligible_type,
        () => entry.path,
        () =>
          `${nodeType.name} is not eligible_for_tandemn, so nothing new will be placed on what is reserved there`,
      );
    }
    const reserved = reservations.reservedFor(entry.reservation);
    if (reserved !== undefined) checkShape(entry, reserved, out);
    checkReference(entry, reservations.index, out);
    checkCount(entry, reserved, out);
  }
}

/** What concerns the reservation as a whole: that it is the only one, on a type of the rank's, and on all of them. */
function checkShape(entry: ReservationEntry, reserved: ReservedRank, out: FindingCollector): void {
  const { nodeType } = entry;
  const { rank, byNodeType, reservedTypes, spannedTypes } = reserved;
  const first = byNodeType.get(nodeType);
  if (first !== undefined && !isSame(first, entry)) {
    out.report(
      reservationRules.duplicate_reservation,
      () => entry.path,
      () =>
        `${rank.name} is reserved on ${nodeType.name} in ${first.path} already; give one entry with the number of all chains`,
    );
  }
  if (reserved.spansKnownTypes && !spannedTypes.has(entry.target)) {
    out.report(
      reservationRules.reservation_off_target,
      () => entry.path,
      () => `${rank.name} has no pod requirement on ${nodeType.name}; reserve it where its pods stand`,
    );
  }
  const [firstOfAll] = byNodeType.values();
  if (!reserved.spans || firstOfAll === undefined || !isSame(firstOfAll, entry)) return;
  const missing = [...spannedTypes].filter((type) => !reservedTypes.has(type));
  const [one] = missing;
  if (one === undefined) return;
  out.report(
    reservationRules.reservation_incomplete,
    () => entry.path,
    () =>
      `${rank.name} spans ${spannedTypes.size} node types, but is not reserved on ${one.name}` +
      `${missing.length > 1 ? ` and ${missing.length - 1} more` : ''}; reserve the same count on each`,
  );
}

function checkReference(entry: ReservationEntry, index: SnapshotIndex, out: FindingCollector): void {
  const { jobId, rankId } = entry.reservation;
  const job = index.jobById(jobId);
  const rank = job?.ranks.byId(rankId);
  if (!isValidId(jobId)) reportInvalidId(jobId, () => entry.path, 'job_id', out);
  if (job === undefined) {
    out.report(
      reservationRules.unknown_reservation_rank,
      () => `${entry.path}.job_id`,
      () => `job_id ${quote(jobId)} is not in jobs; list the job, or leave the reservation out`,
    );
  }
  if (!isValidId(rankId)) reportInvalidId(rankId, () => entry.path, 'rank_id', out);
  if (job !== undefined && rank === undefined) {
    out.report(
      reservationRules.unknown_reservation_rank,
      () => `${entry.path}.rank_id`,
      () =>
        `rank_id ${quote(rankId)} is not a rank of job ${quote(jobId)}; list the rank there, or leave the reservation out`,
    );
  }
}

function checkCount(
  entry: ReservationEntry,
  reserved: ReservedRank | undefined,
  out: FindingCollector,
): void {
  const { additionalChains } = entry.reservation;
  const path = () => `${entry.path}.additional_chains`;
  if (additionalChains === 0) {
    out.report(
      reservationRules.zero_reservation,
      path,
      () => 'additional_chains is 0; a reservation is for at least 1 chain, so leave the entry out',
    );
    return;
  }
  if (reserved === undefined) return;
  const { rank, leading } = reserved;
  if (leading !== undefined && isCompared(entry, reserved)) {
    const expected = leading.reservation.additionalChains;
    if (additionalChains !== expected) {
      out.report(
        reservationRules.reservation_incomplete,
        path,
        () =>
          `additional_chains is ${additionalChains}, but ${leading.path} reserves ${expected} of ${rank.name}, ` +
          'whose chains span both node types; the counts must be equal',
      );
    }
  }
  const { maxChains } = rank.rank;
  if (maxChains !== undefined && rank.liveChains + additionalChains > maxChains) {
    out.report(
      reservationRules.reservation_above_max,
      path,
      () =>
        `additional_chains is ${additionalChains}; with ${rank.liveChains} chains that have not ended, ${rank.name} ` +
        `would have more than its max_chains ${maxChains}`,
    );
  }
}

/** Duplicates and reservations off target are refused as such; their counts say nothing more. */
function isCompared(entry: ReservationEntry, { byNodeType, spannedTypes }: ReservedRank): boolean {
  const first = byNodeType.get(entry.nodeType);
  return first !== undefined && isSame(first, entry) && spannedTypes.has(entry.target);
}

function isSame(a: ReservationEntry, b: ReservationEntry): boolean {
  return a.nodeType === b.nodeType && a.position === b.position;
}
