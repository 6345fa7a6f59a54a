/** `rmap agent`: keeps the service's map of one cluster as the cluster is. */

import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
import { type Client, type ClientOptions, createClient } from '../client/client.ts';
import { ApiError } from '../client/errors.ts';
import { pause } from '../client/pause.ts';
import { serveHealth } from './health-server.ts';
import { watchCluster } from './kube/cluster-watch.ts';
import { connect } from './kube/connection.ts';
import { discover } from './kube/discovery.ts';
import { type KubeconfigOptions, kubeTarget } from './kube/kubeconfig.ts';
import { leaseOf } from './lease.ts';
import { type Memory, memoryOf, NO_MEMORY } from './mapping/memory.ts';
import type { AgentSettings } from './mapping/settings.ts';
import { Metrics } from './metrics.ts';
import { ClusterIdMissingError } from './one-snapshot.ts';
import { Pusher } from './pusher.ts';

export interface AgentOptions {
  readonly service: ClientOptions;
  readonly settings: AgentSettings;
  readonly kubeconfig: KubeconfigOptions;
  /** Two replicas share it; nothing for an agent that is alone. */
  readonly lease: { readonly namespace: string; readonly name: string } | undefined;
  readonly minIntervalMs: number;
  readonly heartbeatMs: number;
  readonly omitOnExit: boolean;
  readonly health: { readonly host: string; readonly port: number } | undefined;
  readonly log: (message: string) => void;
  /** Told once, when the health server listens. */
  readonly onListening?: (port: number) => void;
  readonly silenceMs?: number;
}

const MAX_LISTENERS = 100;

/** How long the end of an agent may take: a pod that is stopped is killed soon. */
const FAREWELL_MS = 5_000;

/** Runs until the signal ends it. @throws KubeconfigError, ClusterIdMissingError, HeartbeatTooSlowError */
export async function runAgent(options: AgentOptions, signal: AbortSignal): Promise<void> {
  const { log } = options;
  const metrics = new Metrics();
  const connection = connect(kubeTarget(options.kubeconfig));
  // Every try is of a new cut, so the client makes one.
  const client = createClient({ ...options.service, retry: { attempts: 1, baseMs: 0, capMs: 0 } });
  let pusher: Pusher | undefined;
  const starting = 'starting';
  let state: string | undefined = starting;
  const watch = watchCluster(connection, options.settings, {
    onChange: () => pusher?.changed(),
    onRestart: (resource, why) =>
      metrics.count('resource_map_agent_watch_restarts_total', `kind="${resource}",reason="${why}"`),
    log,
    ...(options.silenceMs === undefined ? {} : { silenceMs: options.silenceMs }),
  });
  const health =
    options.health === undefined
      ? undefined
      : await serveHealth(
          {
            notReady: () => state ?? waitingFor(watch.notLive(Date.now())),
            metrics: () => {
              const cut = watch.cut(Date.now());
              if (cut !== undefined)
                metrics.set(
                  'resource_map_agent_view_age_seconds',
                  Math.max(0, (Date.now() - cut.completeUntilMs) / 1_000),
                );
              return metrics.render();
            },
          },
          options.health.host,
          options.health.port,
        );
  if (health !== undefined) options.onListening?.(health.port);

  const stop = new AbortController();
  const ended = AbortSignal.any([signal, stop.signal]);
  // A listener for each kind that is watched, and some more: that is no leak.
  setMaxListeners(MAX_LISTENERS, ended);
  const lease =
    options.lease === undefined
      ? undefined
      : leaseOf(connection, { ...options.lease, identity: `${hostname()}_${randomUUID()}` });
  let clusterId: string | undefined;
  try {
    clusterId = options.settings.cluster.id ?? (await discoveredId(connection, ended, log));
    const memory = await lastSnapshot(client, clusterId, ended, log);
    pusher = new Pusher({ ...options, watch, client, memory, lease, metrics });
    state = undefined;
    // The first of them to fail ends the other.
    const end = (error: unknown) => {
      stop.abort();
      throw error;
    };
    await Promise.all([
      watch.run(ended).catch(end),
      pusher.run(ended).catch(end),
      lease?.keep(() => watch.notLive(Date.now()).length === 0, ended),
    ]);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    stop.abort();
    await farewell(options, client, clusterId, lease);
    connection.close();
    await health?.close();
  }
}

function waitingFor(kinds: readonly string[]): string | undefined {
  return kinds.length === 0 ? undefined : `not heard: ${kinds.join(', ')}`;
}

async function discoveredId(
  connection: ReturnType<typeof connect>,
  signal: AbortSignal,
  log: (message: string) => void,
): Promise<string> {
  const { clusterUid } = await untilAnswered(() => discover(connection, signal), signal, log);
  if (clusterUid === undefined)
    throw new ClusterIdMissingError(
      'The cluster has no id: this account may not get the namespace kube-system, whose UID it would be. Name it with --cluster.',
    );
  return clusterUid;
}

/** What the map has of the cluster, so that node types keep their ids. Nothing where it has nothing. */
async function lastSnapshot(
  client: Client,
  clusterId: string,
  signal: AbortSignal,
  log: (message: string) => void,
): Promise<Memory> {
  return untilAnswered(
    async () => {
      try {
        return memoryOf(await client.snapshot(clusterId, { signal }));
      } catch (error) {
        // There is none, or this token may only push: then the agent learns as it goes.
        if (error instanceof ApiError && !error.retryable && error.status !== 401) return NO_MEMORY;
        throw error;
      }
    },
    signal,
    log,
  );
}

async function untilAnswered<T>(
  ask: () => Promise<T>,
  signal: AbortSignal,
  log: (message: string) => void,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await ask();
    } catch (error) {
      signal.throwIfAborted();
      if (failures === 1 || failures % 10 === 0) log(`start: ${(error as Error).message}; trying again`);
      await pause(Math.min(10_000, 250 * 2 ** Math.min(failures, 10)) * (0.5 + Math.random() / 2), signal);
    }
  }
}

async function farewell(
  { omitOnExit, log }: AgentOptions,
  client: Client,
  clusterId: string | undefined,
  lease: ReturnType<typeof leaseOf> | undefined,
): Promise<void> {
  const signal = AbortSignal.timeout(FAREWELL_MS);
  try {
    const leads = lease === undefined || lease.holds();
    if (omitOnExit && leads && clusterId !== undefined)
      await client.omit(clusterId, { reason: 'agent_stopped', signal });
    await lease?.release();
  } catch (error) {
    log(`end: ${(error as Error).message}`);
  }
}
