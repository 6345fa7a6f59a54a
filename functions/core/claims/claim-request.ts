/** Reads a claim request: every condition checked, each fault named with its value and what would be right. */
import { createHash } from 'node:crypto';
import { clone, toBinary } from '@bufbuild/protobuf';
import type { Duration } from '@bufbuild/protobuf/wkt';
import { type ClaimRank, type ClaimRequest, ClaimRequestSchema } from '../../gen/resourcemap/v1/claims_pb.ts';
import type { PodRequest } from '../capacity/fit/fit-request.ts';
import { MAX_PODS_PER_CHAIN } from '../capacity/fit/limits.ts';
import { readPod } from '../capacity/fit/parse-fit-request.ts';
import { ResourceMapError } from '../errors.ts';
import { quote } from '../quote.ts';
import { type ClaimId, parseClaimId } from './claim-id.ts';
import { ranksOverlap } from './evaluate.ts';
import {
  DEFAULT_CONFIRMED_TTL_S,
  DEFAULT_HELD_TTL_S,
  MAX_CHAIN_IDS,
  MAX_CLAIM_ID_BYTES,
  MAX_CLAIM_PODS,
  MAX_CLAIM_RANKS,
  MAX_CONFIRMED_TTL_S,
  MAX_HELD_TTL_S,
  MAX_NOTE_BYTES,
  MIN_CONFIRMED_TTL_S,
  MIN_HELD_TTL_S,
} from './limits.ts';

/** A request that makes sense. */
export interface ParsedClaim {
  readonly jobId: string;
  readonly ranks: readonly ParsedRank[];
  readonly sameFabric: boolean;
  readonly sameZone: boolean;
  readonly ttlMs: number;
  readonly replaces: ClaimId | undefined;
  readonly note: string;
  /** Of all that makes two requests the same: not of ttl and note. */
  readonly digest: Uint8Array;
}

export interface ParsedRank {
  readonly rankId: string;
  readonly chains: number;
  /** Empty if the chains are claimed by their number. */
  readonly chainIds: readonly string[];
  readonly pods: readonly PodRequest[];
}

/** @throws ResourceMapError `invalid_claim`; `invalid_fit_request` for a pod that no fit request may have */
export function parseClaimRequest(request: ClaimRequest): ParsedClaim {
  const { jobId, ranks, note } = request;
  checkId('job_id', jobId);
  if (jobId === '') throw invalid('job_id', 'is empty; name the job whose chains are claimed');
  if (ranks.length === 0) throw invalid('ranks', 'is empty; claim chains of at least one rank');
  if (ranks.length > MAX_CLAIM_RANKS) {
    throw invalid('ranks', `has ${ranks.length} entries; at most ${MAX_CLAIM_RANKS} are taken`);
  }
  const parsed = ranks.map((rank, index) => readRank(rank, `ranks[${index}]`));
  refuseOverlap(parsed);
  const pods = parsed.reduce((sum, rank) => sum + rank.chains * rank.pods.length, 0);
  if (pods > MAX_CLAIM_PODS) {
    throw invalid(
      'ranks',
      `ask for ${pods} pods over all chains; at most ${MAX_CLAIM_PODS} are taken, so make several claims`,
    );
  }
  if (Buffer.byteLength(note) > MAX_NOTE_BYTES) {
    throw invalid('note', `has ${Buffer.byteLength(note)} bytes; at most ${MAX_NOTE_BYTES} are kept`);
  }
  return {
    jobId,
    ranks: parsed,
    sameFabric: request.sameFabric,
    sameZone: request.sameZone,
    ttlMs: heldTtlMs(request.ttl),
    replaces: request.replaces === '' ? undefined : parseClaimId(request.replaces, 'replaces'),
    note,
    digest: digestOf(request),
  };
}

/** Milliseconds that a held claim is to live from now on. @throws ResourceMapError `invalid_claim` */
export function heldTtlMs(ttl: Duration | undefined): number {
  return ttlMs(ttl, {
    least: MIN_HELD_TTL_S,
    most: MAX_HELD_TTL_S,
    otherwise: DEFAULT_HELD_TTL_S,
    of: 'held',
  });
}

/** Milliseconds that a confirmed claim is to live from now on. @throws ResourceMapError `invalid_claim` */
export function confirmedTtlMs(ttl: Duration | undefined): number {
  return ttlMs(ttl, {
    least: MIN_CONFIRMED_TTL_S,
    most: MAX_CONFIRMED_TTL_S,
    otherwise: DEFAULT_CONFIRMED_TTL_S,
    of: 'confirmed',
  });
}

interface TtlBounds {
  readonly least: number;
  readonly most: number;
  readonly otherwise: number;
  readonly of: string;
}

function ttlMs(ttl: Duration | undefined, { least, most, otherwise, of }: TtlBounds): number {
  if (ttl === undefined) return otherwise * 1_000;
  const seconds = Number(ttl.seconds) + ttl.nanos / 1e9;
  if (seconds >= least && seconds <= most) return Math.floor(seconds * 1_000);
  throw invalid('ttl', `is "${seconds}s"; a ${of} claim takes from "${least}s" to "${most}s"`);
}

function readRank(rank: ClaimRank, path: string): ParsedRank {
  const { rankId, chainIds, podRequirements } = rank;
  checkId(`${path}.rank_id`, rankId);
  if (podRequirements.length === 0) {
    throw invalid(`${path}.pod_requirements`, 'is empty; name each pod of one chain');
  }
  if (podRequirements.length > MAX_PODS_PER_CHAIN) {
    throw invalid(
      `${path}.pod_requirements`,
      `has ${podRequirements.length} entries; at most ${MAX_PODS_PER_CHAIN} are taken`,
    );
  }
  if (chainIds.length > MAX_CHAIN_IDS) {
    throw invalid(
      `${path}.chain_ids`,
      `has ${chainIds.length} entries; at most ${MAX_CHAIN_IDS} are kept, so claim more chains by their number`,
    );
  }
  for (const [index, chainId] of chainIds.entries()) {
    checkId(`${path}.chain_ids[${index}]`, chainId);
    if (chainId === '')
      throw invalid(`${path}.chain_ids[${index}]`, 'is empty; give each chain its id, or none of them');
    if (chainIds.indexOf(chainId) < index)
      throw invalid(`${path}.chain_ids[${index}]`, `is ${quote(chainId)} a second time`);
  }
  const chains = rank.chains ?? (chainIds.length || 1);
  if (chains === 0) throw invalid(`${path}.chains`, 'is 0; ask for at least 1, or leave it out for 1');
  if (chainIds.length > 0 && chains !== chainIds.length) {
    throw invalid(
      `${path}.chains`,
      `is ${chains}, but there are ${chainIds.length} chain ids; leave it out beside them`,
    );
  }
  return {
    rankId,
    chains,
    chainIds,
    pods: podRequirements.map((pod, index) => readPod(pod, `${path}.pod_requirements[${index}]`)),
  };
}

/** Two entries that the same chain could count for would both be fulfilled by it. */
function refuseOverlap(ranks: readonly ParsedRank[]): void {
  for (const [index, rank] of ranks.entries()) {
    for (const [other, before] of ranks.slice(0, index).entries()) {
      if (!ranksOverlap(rank.rankId, before.rankId)) continue;
      const byId = rank.chainIds.length > 0 && before.chainIds.length > 0;
      if (byId && !rank.chainIds.some((id) => before.chainIds.includes(id))) continue;
      throw invalid(
        `ranks[${index}]`,
        `may count the same chains as ranks[${other}]; give each its own rank_id, or each chain its id`,
      );
    }
  }
}

function checkId(path: string, id: string): void {
  const bytes = Buffer.byteLength(id);
  if (bytes > MAX_CLAIM_ID_BYTES)
    throw invalid(path, `is ${quote(id)}, ${bytes} bytes; at most ${MAX_CLAIM_ID_BYTES} are taken`);
  if (/\p{Cc}/u.test(id))
    throw invalid(path, `is ${quote(id)}, which has a control character; it can have none`);
}

function digestOf(request: ClaimRequest): Uint8Array {
  const said = clone(ClaimRequestSchema, request);
  delete said.ttl;
  said.note = '';
  return createHash('sha256').update(toBinary(ClaimRequestSchema, said)).digest().subarray(0, 8);
}

function invalid(path: string, fault: string): ResourceMapError {
  return new ResourceMapError('invalid_claim', `${path} ${fault}.`);
}
