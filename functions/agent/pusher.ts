/**
 * Pushes the newest state of a cluster, and never an older one: there is no queue, and every
 * try, after whatever failure, is made of a new cut.
 */
import { createHash } from 'node:crypto';
import { toBinary } from '@bufbuild/protobuf';
import type { Client, PushHeaders } from '../client/client.ts';
import { ApiError } from '../client/errors.ts';
import { pause } from '../client/pause.ts';
import { type ClusterResourceMap, ClusterResourceMapSchema } from '../gen/resourcemap/v1/resource_map_pb.ts';
import { ExclusionList } from './exclusions.ts';
import type { ClusterWatch } from './kube/cluster-watch.ts';
import type { Lease } from './lease.ts';
import type { Memory } from './mapping/memory.ts';
import type { AgentSettings } from './mapping/settings.ts';
import { type SnapshotResult, snapshotOf } from './mapping/snapshot.ts';
import type { Metrics } from './metrics.ts';

export interface PusherOptions {
  readonly watch: ClusterWatch;
  readonly client: Client;
  readonly settings: AgentSettings;
  readonly memory: Memory;
  readonly lease: Lease | undefined;
  readonly minIntervalMs: number;
  readonly heartbeatMs: number;
  readonly metrics: Metrics;
  readonly log: (message: string) => void;
}

/** Changes come in bursts: a pod that is bound has its claim written a moment before. */
const SETTLE_MS = 250;
/** How often a view that is not live, or a Lease of another, is asked again. */
const WAIT_MS = 1_000;
const BACKOFF = { baseMs: 500, capMs: 30_000 };
const PUSH_TIMEOUT_MS = 30_000;
/** Tokens that are kept: one a push, back to the oldest that a quiet watch can be. */
const MAX_TOKENS = 200;

/** The service takes a cluster out of the map sooner than three heartbeats can be missed. */
export class HeartbeatTooSlowError extends Error {
  override readonly name = 'HeartbeatTooSlowError';
}

export class Pusher {
  readonly #options: PusherOptions;
  readonly #exclusions = new ExclusionList();
  #memory: Memory;
  #counter = BigInt(Date.now()) - 1n;
  #changedMs: number | undefined = 0;
  #wake: () => void = () => {};
  #lastTryMs = Number.NEGATIVE_INFINITY;
  #lastAcceptedMs = Number.NEGATIVE_INFINITY;
  #pushed = '';
  #noted = '';
  #failures = 0;
  #notBeforeMs = 0;
  readonly #tokens: { readonly token: string; readonly receivedMs: number }[] = [];

  constructor(options: PusherOptions) {
    this.#options = options;
    this.#memory = options.memory;
  }

  /** Something changed. */
  changed(): void {
    this.#changedMs ??= Date.now();
    this.#wake();
  }

  /** Ends with the signal. @throws HeartbeatTooSlowError */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const waitMs = this.#dueMs() - Date.now();
      if (waitMs > 0) await this.#sleep(waitMs, signal);
      else if (!(await this.#tryPush(signal))) await this.#sleep(WAIT_MS, signal, { deaf: true });
    }
  }

  #dueMs(): number {
    const { minIntervalMs, heartbeatMs } = this.#options;
    const forChange =
      this.#changedMs === undefined
        ? Number.POSITIVE_INFINITY
        : Math.max(this.#changedMs + SETTLE_MS, this.#lastTryMs + minIntervalMs);
    return Math.max(Math.min(forChange, this.#lastAcceptedMs + heartbeatMs), this.#notBeforeMs);
  }

  async #sleep(ms: number, signal: AbortSignal, { deaf = false } = {}): Promise<void> {
    const woken = new AbortController();
    if (!deaf) this.#wake = () => woken.abort();
    await pause(Math.min(ms, 60_000), AbortSignal.any([signal, woken.signal])).catch(() => {});
    this.#wake = () => {};
  }

  /** @returns whether there was anything to try with: a live view, and the Lease */
  async #tryPush(signal: AbortSignal): Promise<boolean> {
    const { watch, metrics, lease, log } = this.#options;
    const nowMs = Date.now();
    const live = watch.notLive(nowMs).length === 0;
    metrics.set('resource_map_agent_live', live ? 1 : 0);
    if (!live) return false;
    let leaseEnd: number | undefined;
    if (lease !== undefined) {
      leaseEnd = await lease.confirm(signal).catch((error: Error) => {
        if (!signal.aborted) log(`lease: ${error.message}`);
        return undefined;
      });
      metrics.set('resource_map_agent_leader', leaseEnd === undefined ? 0 : 1);
      if (leaseEnd === undefined) {
        // The process that holds it pushes what we do not know of.
        this.#pushed = '';
        this.#lastAcceptedMs = Number.NEGATIVE_INFINITY;
        return false;
      }
    }

    // From here to the request nothing is awaited: the cut is of one moment.
    const cut = watch.cut(Date.now());
    if (cut === undefined) return false;
    const collectedAtMs = Date.now();
    this.#counter += 1n;
    const made = snapshotOf({
      facts: cut.facts,
      settings: this.#options.settings,
      memory: this.#memory,
      collectedAtMs,
      counter: this.#counter,
      exclusions: this.#exclusions.current(collectedAtMs),
    });
    this.#memory = made.memory;
    this.#tellNotes(made);
    const content = contentOf(made.snapshot);
    const beat = collectedAtMs >= this.#lastAcceptedMs + this.#options.heartbeatMs;
    const changedMs = this.#changedMs;
    this.#changedMs = undefined;
    if (content === this.#pushed && !beat) return true;
    this.#lastTryMs = collectedAtMs;
    await this.#push(made, content, cut.completeUntilMs, leaseEnd, signal);
    if (this.#failures > 0) this.#changedMs ??= changedMs ?? collectedAtMs;
    return true;
  }

  async #push(
    made: SnapshotResult,
    content: string,
    completeUntilMs: number,
    leaseEnd: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, metrics, log, heartbeatMs } = this.#options;
    const leftMs = leaseEnd === undefined ? PUSH_TIMEOUT_MS : Math.max(1, leaseEnd - performance.now());
    const ended = AbortSignal.any([
      signal,
      AbortSignal.timeout(Math.ceil(Math.min(PUSH_TIMEOUT_MS, leftMs))),
    ]);
    const observed = this.#tokens.findLast(({ receivedMs }) => receivedMs < completeUntilMs)?.token;
    let said: PushHeaders | undefined;
    try {
      await client.push(made.snapshot, {
        signal: ended,
        ...(observed === undefined ? {} : { observed }),
        onAccepted: (headers) => {
          said = headers;
        },
      });
    } catch (error) {
      if (!signal.aborted) this.#refused(error, made);
      return;
    }
    metrics.count('resource_map_agent_pushes_total', 'outcome="accepted"');
    metrics.set('resource_map_agent_last_push_timestamp_seconds', Date.now() / 1_000);
    if (this.#failures > 0) log('The service accepts snapshots again.');
    this.#failures = 0;
    this.#notBeforeMs = 0;
    this.#lastAcceptedMs = Date.now();
    this.#pushed = content;
    if (said?.observed !== undefined) {
      this.#tokens.push({ token: said.observed, receivedMs: Date.now() });
      if (this.#tokens.length > MAX_TOKENS) this.#tokens.shift();
    }
    const omitAfterMs = said?.omitAfterMs ?? Number.POSITIVE_INFINITY;
    if (heartbeatMs > omitAfterMs / 3) {
      throw new HeartbeatTooSlowError(
        `A heartbeat of ${heartbeatMs / 1_000} s is too slow: the service takes a cluster out of the map that is silent for ${omitAfterMs / 1_000} s, so --heartbeat may be ${Math.floor(omitAfterMs / 3_000)} s at most.`,
      );
    }
  }

  #refused(error: unknown, made: SnapshotResult): void {
    const { metrics, log } = this.#options;
    this.#failures++;
    const jitterMs =
      (0.5 + Math.random() / 2) *
      Math.min(BACKOFF.capMs, BACKOFF.baseMs * 2 ** Math.min(this.#failures - 1, 10));
    if (error instanceof ApiError && error.problem.highWaterMark !== undefined) {
      metrics.count('resource_map_agent_pushes_total', 'outcome="counter_conflict"');
      const mark = error.problem.highWaterMark;
      if (mark > this.#counter) this.#counter = mark;
      // The next try is a new cut, under a counter above the mark.
      this.#notBeforeMs = Date.now() + (this.#failures > 3 ? jitterMs : 0);
      return;
    }
    if (error instanceof ApiError && error.status === 422) {
      metrics.count('resource_map_agent_pushes_total', 'outcome="refused"');
      const lines = this.#exclusions.add(error.problem.findings ?? [], made, Date.now());
      for (const line of lines) log(`refused: ${line}`);
      this.#notBeforeMs = Date.now() + (this.#failures > 3 ? jitterMs : 0);
      return;
    }
    const retryAfterMs = error instanceof ApiError ? error.retryAfterMs : 0;
    metrics.count('resource_map_agent_pushes_total', 'outcome="failed"');
    const waitMs = Math.max(jitterMs, retryAfterMs);
    this.#notBeforeMs = Date.now() + waitMs;
    if (this.#failures === 1 || this.#failures % 10 === 0)
      log(
        `push: ${(error as Error).message}; trying again in ${(waitMs / 1_000).toFixed(1)} s with the state of then`,
      );
  }

  /** Each note once, until the notes change. */
  #tellNotes({ notes }: SnapshotResult): void {
    this.#options.metrics.set('resource_map_agent_left_out', notes.length);
    const lines = notes.map(({ object, message }) => `${object} ${message}`);
    const all = lines.join('\n');
    if (all === this.#noted) return;
    const before = new Set(this.#noted.split('\n'));
    for (const line of lines) if (!before.has(line)) this.#options.log(line);
    this.#noted = all;
  }
}

/** What a snapshot says, without when it said it. */
function contentOf(snapshot: ClusterResourceMap): string {
  // A shallow copy: a deep one of 50,000 pods takes longer than writing them.
  const { collectedAt: _, ...rest } = snapshot;
  const content: ClusterResourceMap = { ...rest, logicalCounter: 0n };
  return createHash('sha256').update(toBinary(ClusterResourceMapSchema, content)).digest('base64');
}
