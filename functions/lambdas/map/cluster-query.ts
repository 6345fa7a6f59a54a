/** Parts of the list of clusters: what a page or a command shows of very many, and how many there are beside that. */
import { create, fromJson } from '@bufbuild/protobuf';
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';
import type { Context } from 'hono';
import { ResourceMapError } from '../../core/errors.ts';
import { CONDITIONS, type Condition, type ConditionFacts, meets } from '../../core/map/condition.ts';
import { quote } from '../../core/quote.ts';
import { nanosOf } from '../../core/timestamp.ts';
import { type ClusterCounts, ClusterCountsSchema } from '../../gen/resourcemap/v1/service_pb.ts';
import { MAX_LISTED_CLUSTERS, MAX_SEARCH_LENGTH } from '../../http/limits.ts';
import type { Head } from '../../storage/head.ts';
import { type Refusal, standingRefusal } from '../../storage/refusals.ts';

export const CLUSTER_QUERY = ['condition', 'search', 'changed_since', 'limit'] as const;

/** A cluster of a list, in whatever state: with a head, or only with a refused push. */
export interface ListedCluster {
  readonly clusterId: string;
  readonly head: Head | undefined;
  readonly refusal: Refusal | undefined;
}

export interface ClusterQuery {
  readonly accepts: (cluster: ListedCluster, nowMs: number) => boolean;
  /** Absent: as many as there are. */
  readonly limit: number | undefined;
}

/** @throws ResourceMapError `invalid_query` */
export function clusterQueryOf(c: Context): ClusterQuery {
  const conditions = (c.req.queries('condition') ?? []).map(conditionOf);
  const search = searchOf(c);
  const sinceMs = changedSinceMs(c);
  return {
    limit: limitOf(c),
    accepts: (cluster, nowMs) =>
      (conditions.length === 0 || conditions.some((each) => meets(factsOf(cluster), each, nowMs))) &&
      (search === '' || namesOf(cluster).some((name) => name.toLowerCase().includes(search))) &&
      (sinceMs === undefined || changedAtMs(cluster) >= sinceMs),
  };
}

/** Clusters under each condition. */
export function countsOf(clusters: readonly ListedCluster[], nowMs: number): ClusterCounts {
  const counts = create(ClusterCountsSchema, { all: clusters.length });
  for (const cluster of clusters) {
    const facts = factsOf(cluster);
    for (const condition of CONDITIONS) if (meets(facts, condition, nowMs)) counts[condition]++;
  }
  return counts;
}

function factsOf({ head, refusal }: ListedCluster): ConditionFacts {
  return {
    included: head !== undefined && head.omission === undefined,
    receivedAtMs: head?.receivedAtMs,
    collectedAtMs: head === undefined ? undefined : Number(head.collectedAtNanos / 1_000_000n),
    warnings: head?.warnings ?? 0,
    refused: standingRefusal(refusal, head) !== undefined,
  };
}

function namesOf({ clusterId, head }: ListedCluster): readonly string[] {
  if (head === undefined) return [clusterId];
  const { displayName, provider, region, site } = head.identity;
  return [clusterId, displayName, provider, region, site];
}

/** When its content or its state last changed, or a push of it was refused. */
function changedAtMs({ head, refusal }: ListedCluster): number {
  return Math.max(
    head?.contentSince.atMs ?? 0,
    head?.omission?.atMs ?? 0,
    standingRefusal(refusal, head)?.atMs ?? 0,
  );
}

function conditionOf(text: string): Condition {
  const condition = CONDITIONS.find((each) => each === text);
  if (condition === undefined) {
    throw invalid('condition', text, `it can be ${CONDITIONS.map((each) => `"${each}"`).join(', ')}`);
  }
  return condition;
}

function searchOf(c: Context): string {
  const text = c.req.query('search') ?? '';
  if (text.length > MAX_SEARCH_LENGTH)
    throw invalid('search', text, `it can have ${MAX_SEARCH_LENGTH} characters`);
  return text.trim().toLowerCase();
}

function changedSinceMs(c: Context): number | undefined {
  const text = c.req.query('changed_since');
  if (text === undefined) return undefined;
  let since: Timestamp;
  try {
    since = fromJson(TimestampSchema, text);
  } catch {
    throw invalid('changed_since', text, 'it can be a time such as "2026-01-31T12:00:00Z"');
  }
  return Number(nanosOf(since) / 1_000_000n);
}

function limitOf(c: Context): number | undefined {
  const text = c.req.query('limit');
  if (text === undefined) return undefined;
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LISTED_CLUSTERS)
    throw invalid('limit', text, `it can be an integer from 1 to ${MAX_LISTED_CLUSTERS}`);
  return limit;
}

function invalid(field: string, value: string, rule: string): ResourceMapError {
  return new ResourceMapError('invalid_query', `The query parameter ${field} is ${quote(value)}; ${rule}.`, {
    field,
    value,
  });
}
