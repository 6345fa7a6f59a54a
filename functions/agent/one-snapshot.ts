/** `rmap snapshot`: one snapshot, of a cluster or of files. */

import { readDumpFiles } from './dump-files.ts';
import { connect } from './kube/connection.ts';
import { type KubeconfigOptions, kubeTarget } from './kube/kubeconfig.ts';
import { readCluster } from './kube/read-cluster.ts';
import type { ClusterFacts } from './mapping/facts.ts';
import { NO_MEMORY } from './mapping/memory.ts';
import { readDump } from './mapping/read-objects.ts';
import type { AgentSettings } from './mapping/settings.ts';
import { type SnapshotResult, snapshotOf } from './mapping/snapshot.ts';

/** A cluster's id is in no object that was read. */
export class ClusterIdMissingError extends Error {
  override readonly name = 'ClusterIdMissingError';
}

export interface OneSnapshotOptions {
  readonly settings: AgentSettings;
  /** Files and folders to read in place of a cluster. */
  readonly from?: readonly string[] | undefined;
  readonly kubeconfig?: KubeconfigOptions;
}

export interface OneSnapshot extends SnapshotResult {
  /** Kinds in the files that no snapshot is made of. */
  readonly unused: ReadonlyMap<string, number>;
}

/** @throws ClusterIdMissingError, DumpError, KubeconfigError, KubeApiError, KubeConnectionError */
export async function oneSnapshot({
  settings,
  from,
  kubeconfig = {},
}: OneSnapshotOptions): Promise<OneSnapshot> {
  const dump = from === undefined ? undefined : readDump(readDumpFiles(from), settings);
  const facts = dump?.facts ?? (await factsOfCluster(settings, kubeconfig));
  if (settings.cluster.id === undefined && facts.clusterUid === undefined) {
    throw new ClusterIdMissingError(
      from === undefined
        ? 'The cluster has no id: this account may not get the namespace kube-system, whose UID it would be. Name it with --cluster.'
        : 'The files name no cluster: the UID of the namespace kube-system would. Name it with --cluster.',
    );
  }
  const now = Date.now();
  const result = snapshotOf({ facts, settings, memory: NO_MEMORY, collectedAtMs: now, counter: BigInt(now) });
  return { ...result, unused: dump?.unused ?? new Map() };
}

async function factsOfCluster(settings: AgentSettings, kubeconfig: KubeconfigOptions): Promise<ClusterFacts> {
  const connection = connect(kubeTarget(kubeconfig));
  try {
    return await readCluster(connection, settings);
  } finally {
    connection.close();
  }
}
