/**
 * One scheduler, with its deployers: claims, confirms, starts before its deadline, and now and then renews,
 * replaces, releases, forgets, or stops in the middle. Remembers what was acknowledged, and judges by that.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { newClaimId } from '../../functions/client/claim-id.ts';
import { type FakeCluster, NODE_TYPES } from './fake-cluster.ts';
import type { Response, Services } from './services.ts';

export interface SchedulerDeps {
  readonly services: Services;
  readonly clusters: readonly FakeCluster[];
  readonly speed: number;
  readonly now: () => number;
  readonly random: () => number;
  readonly stopped: () => boolean;
  readonly tally: Tally;
}

export class Tally {
  accepted = 0;
  refused = 0;
  confirmed = 0;
  fulfilled = 0;
  expired = 0;
  contention = 0;
  /** By cluster: no claim that is sent later is accepted before it. */
  readonly lastFence = new Map<string, bigint>();
  readonly violations: string[] = [];
}

/** Scaled milliseconds: confirmed before that, a start is refused. */
const MARGIN_MS = 1_000;

/** Longer than a pod is not shown after its start; the service counts on 20 s. */
const MAX_SHOW_MS = 15_000;

export async function schedule(deps: SchedulerDeps, name: string): Promise<void> {
  for (let job = 0; !deps.stopped(); job++) await decide(deps, `${name}-${job}`);
}

async function decide(deps: SchedulerDeps, jobId: string): Promise<void> {
  const { services, clusters, now, random, tally, speed } = deps;
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const cluster = pick(clusters);
  const types = random() < 0.2 ? NODE_TYPES : [pick(NODE_TYPES)];
  const byId = random() < 0.5;
  const ranks = types.map((type, rank) => {
    const chains = 1 + Math.floor(random() * 2);
    return {
      rankId: type.id,
      ...(byId ? { chainIds: names(`${jobId}-${rank}`, chains) } : { chains }),
      podRequirements: [{ acceleratorModel: type.model, acceleratorCount: type.podSize }],
    };
  });
  const id = newClaimId(now());
  const path = `/v1/claims/${id}`;
  const query = `?cluster=${cluster.id}`;
  const violation = (what: string, response: Response): void => {
    tally.violations.push(
      `${what}: claim ${id} in ${cluster.id}: ${response.status} ${JSON.stringify(response.body)}`,
    );
  };
  const send = async (method: string, more: string, body: unknown, loses = 0.15): Promise<Response> => {
    for (;;) {
      const response = await services.once(method, path + more, body, { loses });
      if (response?.body?.code === 'contention') tally.contention++;
      if (response !== undefined && response.status < 500 && response.status !== 429) return response;
      await sleep(30 * random());
    }
  };

  const fenceBefore = tally.lastFence.get(cluster.id) ?? 0n;
  const request = { jobId, ranks, ttl: `${5 + Math.floor(random() * 55)}s` };
  const accepted = await send('PUT', query, request);
  if (accepted.status !== 201 && accepted.status !== 200) {
    if (
      ![
        'claim_does_not_fit',
        'claim_undecided',
        'claim_ended',
        'claim_not_found',
        'cluster_omitted',
        'cluster_not_found',
        'snapshot_unavailable',
      ].includes(accepted.body?.code)
    )
      violation('An acceptance was answered with what it cannot be', accepted);
    tally.refused++;
    await sleep(20 + 60 * random());
    return;
  }
  tally.accepted++;
  const fence = BigInt(accepted.body.fence);
  if (fence <= fenceBefore)
    violation(`Its fence is not above ${fenceBefore}, which was told before it was sent`, accepted);
  tally.lastFence.set(cluster.id, fence > fenceBefore ? fence : fenceBefore);
  // A scheduler that thinks, or dies here.
  if (random() < 0.1) return;
  await sleep((random() * 4_000) / speed);
  if (random() < 0.1) {
    const released = await send('DELETE', query, undefined);
    if (released.status !== 200) violation('A release was refused', released);
    return;
  }

  let deadlineMs = 0;
  for (let confirms = 0; confirms < 3; confirms++) {
    const sentMs = now();
    const confirmed = await send('POST', `/confirm${query}`, { ttl: '120s' });
    if (confirmed.status !== 200) {
      const code = confirmed.body?.code;
      if (
        !['claim_ended', 'claim_unbacked', 'claim_undecided', 'claim_not_found', 'cluster_omitted'].includes(
          code,
        )
      )
        violation('A confirmation was answered with what it cannot be', confirmed);
      // Once it was confirmed, it ends by evidence alone.
      if (
        deadlineMs > sentMs &&
        (code === 'claim_ended' || code === 'claim_not_found') &&
        confirmed.body?.state !== 'CLAIM_STATE_FULFILLED'
      )
        violation('A confirmed claim was lost', confirmed);
      if (deadlineMs === 0) return;
      break;
    }
    tally.confirmed++;
    deadlineMs = sentMs + seconds(confirmed.body.expiresIn) * 1_000 - MARGIN_MS;
    if (random() < 0.8) break;
    await sleep((random() * 20_000) / speed);
  }
  // The deployer that dies, or was never told.
  if (random() < 0.1) {
    if (random() < 0.5) await send('DELETE', `${query}&never_started=true`, undefined);
    return;
  }
  if (random() < 0.1) {
    const released = await send('DELETE', query, undefined);
    if (released.status !== 200) violation('A release of a confirmed claim was refused', released);
  }
  await sleep((random() * random() * 70_000) / speed);
  // A claim that was confirmed is there until its time.
  const seen = await send('GET', query, undefined, 0);
  if (now() < deadlineMs && seen.body?.state !== 'CLAIM_STATE_CONFIRMED')
    violation('An acknowledged claim is not confirmed before its time', seen);
  let all = true;
  for (const [rank, type] of types.entries()) {
    const { chains, chainIds } = ranks[rank] as { chains?: number; chainIds?: readonly string[] };
    for (const chainId of chainIds ?? names(`${jobId}-${rank}`, chains ?? 0)) {
      if (now() >= deadlineMs) {
        all = false;
        continue;
      }
      const nowMs = now();
      cluster.start({
        jobId,
        chainId,
        typeId: type.id,
        showsMs: nowMs + random() * MAX_SHOW_MS,
        endsMs: nowMs + 20_000 + random() * 100_000,
      });
      await sleep((random() * 2_000) / speed);
    }
  }
  if (!all || random() < 0.7) return;
  // Some wait until it ends.
  for (let look = 0; look < 600; look++) {
    const ended = await send('GET', query, undefined, 0);
    if (ended.status === 404 || ended.body?.state === 'CLAIM_STATE_EXPIRED') {
      tally.expired++;
      return;
    }
    if (ended.body?.state === 'CLAIM_STATE_FULFILLED') {
      tally.fulfilled++;
      return;
    }
    await sleep(2_000 / speed);
    if (deps.stopped()) return;
  }
}

function names(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}

function seconds(duration: string): number {
  return Number(duration.replace(/s$/, ''));
}
