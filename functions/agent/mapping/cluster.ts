/** Who the cluster is, and what is installed in it. */
import type { ClusterFacts, NodeFacts } from './facts.ts';
import { cleanText, compareText } from './ids.ts';
import { OPERATORS } from './operators.ts';
import { firstLabel, providerOf, regionOf } from './platform.ts';
import type { AgentSettings } from './settings.ts';

interface Identity {
  readonly clusterId: string;
  readonly displayName: string;
  readonly provider: string;
  readonly region: string;
  readonly site: string;
}

/** What a setting says goes before what all nodes agree on. @throws TypeError for a cluster without an id */
export function clusterIdentity({ nodes, clusterUid }: ClusterFacts, { cluster }: AgentSettings): Identity {
  const clusterId = cluster.id ?? clusterUid;
  if (clusterId === undefined)
    throw new TypeError('The cluster has no id: neither a setting nor kube-system names one.');
  return {
    clusterId,
    displayName:
      cluster.displayName ??
      agreed(nodes, ({ labels }) => firstLabel(labels, 'alpha.eksctl.io/cluster-name')),
    provider: cluster.provider ?? agreed(nodes, providerOf),
    region: cluster.region ?? agreed(nodes, ({ labels }) => regionOf(labels)),
    site: cluster.site ?? '',
  };
}

function agreed(nodes: readonly NodeFacts[], read: (node: NodeFacts) => string | undefined): string {
  const values = new Set(nodes.map(read));
  const [value] = values;
  return values.size === 1 && value !== undefined ? cleanText(value) : '';
}

/** A cluster under upgrade has a few versions of a thing; one with more is odd, and its first ones say so. */
const MAX_VERSIONS = 20;

/** Kubernetes, its kubelets, the drivers of its accelerators and operators, each once a version. */
export function componentsOf({
  nodes,
  serverVersion,
  workloads,
}: ClusterFacts): { name: string; version: string }[] {
  const named: readonly (readonly [name: string, versions: readonly (string | undefined)[]])[] = [
    ['kube-apiserver', [serverVersion]],
    ['kubelet', nodes.map(({ kubeletVersion }) => kubeletVersion)],
    ['nvidia-driver', nodes.map(driverVersion)],
    ...OPERATORS.map(
      (name) =>
        [
          name,
          workloads.map(({ operator }) => (operator?.name === name ? operator.version : undefined)),
        ] as const,
    ),
  ];
  return named.flatMap(([name, versions]) => {
    const known = new Set(versions.flatMap((version) => (version === undefined ? [] : [cleanText(version)])));
    return [...known]
      .sort(compareText)
      .slice(0, MAX_VERSIONS)
      .map((version) => ({ name, version }));
  });
}

function driverVersion({ labels }: NodeFacts): string | undefined {
  const full = firstLabel(labels, 'nvidia.com/cuda.driver-version.full');
  if (full !== undefined) return full;
  const parts = ['major', 'minor', 'rev'].map((part) => firstLabel(labels, `nvidia.com/cuda.driver.${part}`));
  return parts.every((part) => part !== undefined) ? parts.join('.') : undefined;
}
