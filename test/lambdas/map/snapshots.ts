/** Snapshots of small clusters, all different. */
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
} from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';

export interface ClusterFacts {
  readonly counter?: bigint;
  readonly region?: string;
  readonly model?: string;
  /** Nodes of the only node type; what the content differs in. */
  readonly nodes?: number;
}

/** A valid snapshot of a cluster with one pool. */
export function clusterSnapshot(
  clusterId: string,
  { counter = 1n, region = 'eu-west-1', model = 'H100', nodes = 1 }: ClusterFacts = {},
): ClusterResourceMap {
  return create(ClusterResourceMapSchema, {
    cluster: { clusterId, provider: 'aws', region },
    collectedAt: timestampFromMs(1_767_225_600_000 + Number(counter % 1_000_000n)),
    logicalCounter: counter,
    capacityPools: [
      {
        id: 'pool',
        nodeTypes: [
          {
            id: 'type',
            instanceType: 'p5.48xlarge',
            acceleratorModel: model,
            acceleratorsPerNode: 8,
            totalCount: nodes,
            purchaseModel: 1,
          },
        ],
      },
    ],
  });
}
