/** Networks that tie nodes together, as far as labels and resources of the nodes say. */
import type { Labels, NodeFacts } from './facts.ts';
import { cleanText } from './ids.ts';
import { firstLabel } from './platform.ts';

/** What a fabric is, seen from one of its nodes. */
export interface FabricSight {
  readonly id: string;
  readonly transport: string;
  readonly rdmaReady: boolean;
}

/** Domains of NVLink that span nodes. */
const NVLINK_DOMAINS = [
  'nvidia.com/gpu.clique',
  'topology.k8s.aws/ultraserver-id',
  'oci.oraclecloud.com/host.gpu_memory_fabric_id',
  'accelerator.topograph.run/domain',
];

/** Blocks of a cloud's network, one level of several: large enough to hold a job, small enough to be near. */
const NETWORK_BLOCKS = [
  'cloud.google.com/gce-topology-block',
  'oci.oraclecloud.com/rdma.network_block_id',
  'topology.k8s.aws/network-node-layer-2',
  'fabric.topograph.run/tier-2',
  'network.topology.nvidia.com/block',
];

const RDMA_RESOURCE = /^(?:rdma\/|mellanox\.com\/shared_hca_rdma$|nvidia\.com\/hostdev$)/;

/**
 * The fabric of a node, or nothing where no label names one.
 *
 * @param configured the label whose values are the fabrics; empty for none
 * @param draRdma whether a DRA network driver offers the node an RDMA device
 */
export function fabricOf(
  node: NodeFacts,
  configured: string | undefined,
  draRdma: boolean,
): FabricSight | undefined {
  if (configured === '') return undefined;
  const nvlink = configured === undefined ? nvlinkDomain(node.labels) : undefined;
  if (nvlink !== undefined) return { id: nvlink, transport: 'NVLink', rdmaReady: true };
  const id = labelled(node.labels, configured === undefined ? NETWORK_BLOCKS : [configured]);
  if (id === undefined) return undefined;
  const efa = (node.allocatable['vpc.amazonaws.com/efa'] ?? 0) > 0;
  const rdma =
    draRdma ||
    Object.entries(node.allocatable).some(([name, count]) => RDMA_RESOURCE.test(name) && count > 0);
  return { id, transport: efa ? 'EFA' : rdma ? 'RDMA' : '', rdmaReady: efa || rdma };
}

/** A subblock of Google's network is a domain of NVLink where the machines have GPUs that are joined by it. */
function nvlinkDomain(labels: Labels): string | undefined {
  const joined = /gb[23]00/.test(labels['cloud.google.com/gke-accelerator'] ?? '');
  return labelled(
    labels,
    joined ? [...NVLINK_DOMAINS, 'cloud.google.com/gce-topology-subblock'] : NVLINK_DOMAINS,
  );
}

function labelled(labels: Labels, keys: readonly string[]): string | undefined {
  const value = firstLabel(labels, ...keys);
  return value === undefined ? undefined : cleanText(value);
}
