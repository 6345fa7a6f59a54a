/** One look at a cluster: every list once. */
import { type ClusterFacts, NO_FACTS } from '../mapping/facts.ts';
import type { AgentSettings } from '../mapping/settings.ts';
import type { KubeConnection } from './connection.ts';
import { discover } from './discovery.ts';
import { kindsOf, type WatchedKind } from './kinds.ts';
import { listObjects } from './list.ts';

/** @throws KubeApiError, KubeConnectionError, KubeconfigError */
export async function readCluster(
  connection: KubeConnection,
  settings: AgentSettings,
): Promise<ClusterFacts> {
  const kinds = kindsOf(settings);
  const all = async <T>(kind: WatchedKind<T>): Promise<readonly T[] | undefined> => {
    const facts: T[] = [];
    const listing = await listObjects(connection, kind, (object) => {
      const fact = kind.read(object, undefined);
      if (fact !== undefined) facts.push(fact);
    });
    return listing === undefined ? undefined : facts;
  };
  const each = async <T>(several: readonly WatchedKind<T>[]) => Promise.all(several.map(all));
  // Pods last: those that were bound meanwhile are on nodes that are known.
  const self = await discover(connection);
  const [
    slices,
    claims,
    deviceClasses,
    deviceTaintRules,
    workloads,
    autoscalers,
    nodeGroups,
    machines,
    machineAutoscalers,
    cloudGroups,
    nodes,
  ] = await Promise.all([
    all(kinds.slices),
    all(kinds.claims),
    all(kinds.deviceClasses),
    all(kinds.deviceTaintRules),
    each(kinds.workloads),
    all(kinds.autoscalers),
    each(kinds.nodeGroups),
    each(kinds.machines),
    all(kinds.machineAutoscalers),
    all(kinds.cloudGroups),
    all(kinds.nodes),
  ]);
  const pods = await all(kinds.pods);
  return {
    ...NO_FACTS,
    ...self,
    nodes: nodes ?? [],
    pods: pods ?? [],
    slices: slices ?? [],
    claims: claims ?? [],
    deviceClasses: deviceClasses ?? [],
    deviceTaintRules: deviceTaintRules ?? [],
    workloads: workloads.flatMap((some) => some ?? []),
    autoscalers: autoscalers ?? [],
    nodeGroups: nodeGroups.flatMap((some) => some ?? []),
    machines: machines.every((some) => some === undefined)
      ? undefined
      : machines.flatMap((some) => some ?? []),
    machineAutoscalers: machineAutoscalers ?? [],
    cloudGroups: (cloudGroups ?? []).flat(),
  };
}
