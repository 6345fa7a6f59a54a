/** The client of claims on the real local service. */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ClaimNotStartableError,
  ClaimState,
  createClaimClient,
  newClaimId,
} from '../../functions/client/index.ts';
import { type BundleService, startBundleService } from '../lambdas/plan/bundle-service.ts';

const CLUSTER = 'aicr-eks-h100';
const REQUEST = { jobId: 'llm', ranks: [{ podRequirements: [{ acceleratorCount: 1 }] }] };

let service: BundleService;
beforeAll(async () => {
  service = await startBundleService(['aicr-eks-h100-t3']);
});
afterAll(() => service.close());

const clientOf = (over: { fetch?: typeof fetch } = {}) =>
  createClaimClient({ baseUrl: service.url, ...over });

describe('A claim in the hands of its owner', () => {
  it('starts work once it is confirmed, and only while there is time for it', async () => {
    const held = await clientOf().claim(CLUSTER, REQUEST);
    const { id } = held.claim;
    expect(held.claim.state).toBe(ClaimState.HELD);
    expect(() => held.start(() => 'started')).toThrow(
      `Claim ${id} is held, not confirmed; confirm it before anything is started.`,
    );
    await held.confirm({ ttlMs: 60_000 });
    expect(held.start(() => 'started')).toBe('started');
    expect(held.remainingMs).toBeLessThanOrEqual(60_000);
    expect(() => held.start(() => 'started', 60_001)).toThrow(
      /^Claim [0-9a-f-]+ has \d+ ms left, and a start may take 60001 ms; confirm it again first\.$/,
    );
    await held.renew({ ttlMs: 120_000 });
    expect(held.start(() => 'started', 60_001)).toBe('started');
    await held.release({ neverStarted: true, reason: 'tested' });
    expect(held.claim).toMatchObject({ state: ClaimState.RELEASED, reason: 'tested' });
    expect(() => held.start(() => 'started')).toThrow(ClaimNotStartableError);
  });

  it('counts its deadline from before the request, so that a slow response makes it no later', async () => {
    const slow: typeof fetch = async (url, init) => {
      const response = await fetch(url, init);
      await sleep(300);
      return response;
    };
    const held = await clientOf({ fetch: slow }).claim(CLUSTER, { ...REQUEST, ttl: { seconds: 60n } });
    expect(held.remainingMs).toBeLessThan(60_000 - 290);
    const sentMs = performance.now();
    await held.confirm({ ttlMs: 600_000 });
    expect(held.remainingMs + performance.now()).toBeLessThanOrEqual(sentMs + 600_001);
    await held.release({ neverStarted: true });
  });

  it('starts nothing once a release was sent, though its response is lost', async () => {
    let lost = false;
    const losing: typeof fetch = async (url, init) => {
      const response = await fetch(url, init);
      if (init?.method !== 'DELETE' || lost) return response;
      lost = true;
      throw new Error('The response is lost.');
    };
    const held = await clientOf({ fetch: losing }).claim(CLUSTER, REQUEST);
    await held.confirm();
    const releasing = held.release();
    expect(() => held.start(() => 'started')).toThrow(/^Claim \S+ has 0 ms left/);
    expect((await releasing).releasing).toBe(true);
    expect(lost).toBe(true);
    await held.release({ neverStarted: true });
  });
});

describe('The client of claims', () => {
  it('claims nothing twice if a response is lost', async () => {
    let tries = 0;
    const losing: typeof fetch = async (url, init) => {
      const response = await fetch(url, init);
      if (++tries > 1) return response;
      throw new Error('The response is lost.');
    };
    const held = await clientOf({ fetch: losing }).claim(CLUSTER, REQUEST);
    expect(tries).toBe(2);
    const listed = await clientOf().list({ clusters: [CLUSTER], jobs: ['llm'], states: [ClaimState.HELD] });
    expect(listed).toMatchObject({ kind: 'claims', claims: [{ id: held.claim.id }] });
    await held.release();
  });

  it('waits for a change of the list, and for the end of a claim', async () => {
    const client = clientOf();
    const { etag } = await client.list();
    expect(await client.list({ ifNoneMatch: etag })).toEqual({ kind: 'not-modified', etag });
    const [changed, { claim }] = await Promise.all([
      client.list({ ifNoneMatch: etag, waitMs: 20_000 }),
      client.claim(CLUSTER, REQUEST),
    ]);
    expect(changed.kind).toBe('claims');
    const [ended] = await Promise.all([
      client.get(CLUSTER, claim.id, { waitMs: 20_000 }),
      client.release(CLUSTER, claim.id),
    ]);
    expect(ended.state).toBe(ClaimState.RELEASED);
  });

  it('judges without holding, and says why not', async () => {
    const client = clientOf();
    const id = newClaimId();
    expect((await client.put(CLUSTER, id, REQUEST, { dryRun: true })).id).toBe(id);
    await expect(client.get(CLUSTER, id)).rejects.toThrow('[claim_not_found]');
    const ranks = [{ chains: 100_000, podRequirements: [{ acceleratorCount: 1 }] }];
    await expect(client.claim(CLUSTER, { jobId: 'llm', ranks })).rejects.toThrow('[invalid_claim]');
    await expect(client.claim('nowhere', REQUEST)).rejects.toThrow('[cluster_not_found]');
  });
});
