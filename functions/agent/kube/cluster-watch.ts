/** All kinds of a cluster, watched, and cut at one moment. */
import { pause } from '../../client/pause.ts';
import { type ClusterFacts, NO_FACTS } from '../mapping/facts.ts';
import type { AgentSettings } from '../mapping/settings.ts';
import type { KubeConnection } from './connection.ts';
import { type ClusterSelf, discover } from './discovery.ts';
import { kindsOf, type WatchedKind } from './kinds.ts';
import { WatchedList, type WatchedListOptions } from './watched-list.ts';

/** Kinds and versions of a cluster change when it is upgraded, or something is installed. */
const DISCOVERY_MS = 600_000;

export interface Cut {
  readonly facts: ClusterFacts;
  /** Everything that happened in the cluster before this is in the facts. */
  readonly completeUntilMs: number;
}

export interface ClusterWatch {
  /** Everything at this moment, or nothing while a list is missing or a watch is not heard. */
  cut(nowMs: number): Cut | undefined;
  /** The kinds that are neither listed nor known to be absent, or not heard. */
  notLive(nowMs: number): readonly string[];
  /** Ends with the signal. */
  run(signal: AbortSignal): Promise<void>;
}

export function watchCluster(
  connection: KubeConnection,
  settings: AgentSettings,
  options: WatchedListOptions,
): ClusterWatch {
  const kinds = kindsOf(settings);
  const all: WatchedList<unknown>[] = [];
  const watched = <T>(kind: WatchedKind<T>): WatchedList<T> => {
    const list = new WatchedList(connection, kind, options);
    all.push(list as WatchedList<unknown>);
    return list;
  };
  const several = <T>(group: readonly WatchedKind<T>[]) => group.map((kind) => watched(kind));
  const lists = {
    nodes: watched(kinds.nodes),
    pods: watched(kinds.pods),
    slices: watched(kinds.slices),
    claims: watched(kinds.claims),
    deviceClasses: watched(kinds.deviceClasses),
    deviceTaintRules: watched(kinds.deviceTaintRules),
    workloads: several(kinds.workloads),
    autoscalers: watched(kinds.autoscalers),
    nodeGroups: several(kinds.nodeGroups),
    machines: several(kinds.machines),
    machineAutoscalers: watched(kinds.machineAutoscalers),
    cloudGroups: watched(kinds.cloudGroups),
  };
  let self: ClusterSelf | undefined;

  const keepDiscovering = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      let waitMs = DISCOVERY_MS;
      try {
        self = await discover(connection, signal);
        options.onChange();
      } catch (error) {
        if (signal.aborted) return;
        options.log(`discovery: ${(error as Error).message}`);
        waitMs = self === undefined ? 2_000 : DISCOVERY_MS;
      }
      await pause(waitMs, signal).catch(() => {});
    }
  };

  const notLive = (nowMs: number) => [
    ...(self === undefined ? ['discovery'] : []),
    ...all.filter((list) => !list.isLive(nowMs)).map(({ kind }) => kind.resource),
  ];

  return {
    notLive,
    cut(nowMs) {
      if (self === undefined || notLive(nowMs).length > 0) return undefined;
      const facts: ClusterFacts = {
        ...NO_FACTS,
        ...self,
        nodes: lists.nodes.values(),
        pods: lists.pods.values(),
        slices: lists.slices.values(),
        claims: lists.claims.values(),
        deviceClasses: lists.deviceClasses.values(),
        deviceTaintRules: lists.deviceTaintRules.values(),
        workloads: lists.workloads.flatMap((list) => list.values()),
        autoscalers: lists.autoscalers.values(),
        nodeGroups: lists.nodeGroups.flatMap((list) => list.values()),
        machines: lists.machines.every(({ absent }) => absent)
          ? undefined
          : lists.machines.flatMap((list) => list.values()),
        machineAutoscalers: lists.machineAutoscalers.values(),
        cloudGroups: lists.cloudGroups.values().flat(),
      };
      return { facts, completeUntilMs: Math.min(...all.map((list) => list.completeUntilMs)) };
    },
    async run(signal) {
      await Promise.all([keepDiscovering(signal), ...all.map(async (list) => list.run(signal))]);
    },
  };
}
