/**
 * Which of several agents pushes: the one that holds a Lease. It is asked before each push, and
 * a push must end before the Lease does, so that nobody who has lost it puts an old state on top.
 */

import { pause } from '../client/pause.ts';
import type { KubeConnection } from './kube/connection.ts';
import { KubeApiError } from './kube/errors.ts';
import { at, member, members, text, whole } from './mapping/json.ts';

export interface LeaseOptions {
  readonly namespace: string;
  readonly name: string;
  /** This process, and no other. */
  readonly identity: string;
  readonly durationMs?: number;
}

const DURATION_MS = 15_000;
/** Clocks of two machines, and how long a request can be on its way. */
const MARGIN_MS = 2_000;

export interface Lease {
  /**
   * Takes or renews the Lease.
   *
   * @returns until when it is certainly held, by the clock of this process; nothing while
   *   another holds it
   */
  confirm(signal?: AbortSignal): Promise<number | undefined>;
  /** Renews it while it is held and may be, until the signal ends that. */
  keep(may: () => boolean, signal: AbortSignal): Promise<void>;
  /** Whether it was held when it was last confirmed, and still is. */
  holds(): boolean;
  /** Gives it up, so that another need not wait. */
  release(): Promise<void>;
}

/** Another process's times are not compared with ours: only that its Lease does not change counts. */
interface Observed {
  readonly version: string;
  readonly sinceMs: number;
}

export function leaseOf(
  connection: KubeConnection,
  { namespace, name, identity, durationMs = DURATION_MS }: LeaseOptions,
): Lease {
  const collection = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  const path = `${collection}/${name}`;
  let observed: Observed | undefined;
  let heldUntilMs = 0;

  const write = async (
    current: unknown,
    holder: string,
    signal: AbortSignal | undefined,
  ): Promise<boolean> => {
    const now = new Date().toISOString().replace('Z', '000Z');
    const before = members(member(current, 'spec'));
    const ours = before.holderIdentity === identity;
    const body = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        name,
        namespace,
        ...(current === undefined
          ? {}
          : { resourceVersion: text(at(current, 'metadata', 'resourceVersion')) }),
      },
      spec: {
        holderIdentity: holder,
        leaseDurationSeconds: Math.ceil(durationMs / 1_000),
        renewTime: now,
        acquireTime: ours ? (before.acquireTime ?? now) : now,
        leaseTransitions: (whole(before.leaseTransitions) ?? 0) + (ours ? 0 : 1),
      },
    };
    try {
      await connection.json(current === undefined ? collection : path, {
        method: current === undefined ? 'POST' : 'PUT',
        body,
        signal,
      });
      return true;
    } catch (error) {
      // Another was faster.
      if (error instanceof KubeApiError && error.status === 409) return false;
      throw error;
    }
  };

  const read = async (signal?: AbortSignal): Promise<unknown> => {
    try {
      return await connection.json(path, { signal });
    } catch (error) {
      if (error instanceof KubeApiError && error.status === 404) return undefined;
      throw error;
    }
  };

  /** It is free when its holder has not renewed it for as long as it lasts, by our clock. */
  const isFree = (lease: unknown): boolean => {
    const holder = text(at(lease, 'spec', 'holderIdentity'));
    if (lease === undefined || holder === undefined || holder === identity) return true;
    const version = text(at(lease, 'metadata', 'resourceVersion')) ?? '';
    if (observed?.version !== version) observed = { version, sinceMs: performance.now() };
    const lastsMs = (whole(at(lease, 'spec', 'leaseDurationSeconds')) ?? durationMs / 1_000) * 1_000;
    return performance.now() - observed.sinceMs > lastsMs;
  };

  const confirmNow = async (signal: AbortSignal | undefined): Promise<number | undefined> => {
    const startedMs = performance.now();
    if (heldUntilMs - startedMs > durationMs / 2) return heldUntilMs;
    const lease = await read(signal);
    if (!isFree(lease) || !(await write(lease, identity, signal))) {
      heldUntilMs = 0;
      return undefined;
    }
    heldUntilMs = startedMs + durationMs - MARGIN_MS;
    return heldUntilMs;
  };

  // One at a time: two writes of one process would be a conflict with itself.
  let last: Promise<unknown> = Promise.resolve();
  return {
    async confirm(signal) {
      const next = last.then(() => confirmNow(signal));
      last = next.catch(() => {});
      return next;
    },
    async keep(may, signal) {
      while (!signal.aborted) {
        await pause(durationMs / 3, signal).catch(() => {});
        if (heldUntilMs > 0 && may() && !signal.aborted) await this.confirm(signal).catch(() => {});
      }
    },
    holds: () => heldUntilMs > performance.now(),
    async release() {
      if (heldUntilMs === 0) return;
      heldUntilMs = 0;
      const lease = await read();
      if (text(at(lease, 'spec', 'holderIdentity')) === identity) await write(lease, '', undefined);
    },
  };
}
