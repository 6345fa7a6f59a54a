/** What the routes of an agent take and answer, for the OpenAPI document. */
import { ClusterResourceMapSchema } from '../../gen/resourcemap/v1/resource_map_pb.ts';
import {
  ClusterStatusSchema,
  PushResultSchema,
  ValidateResultSchema,
} from '../../gen/resourcemap/v1/service_pb.ts';
import { MESSAGE_HEADERS, type Operations } from '../../openapi/operation.ts';
import { flag } from '../../openapi/parameters.ts';

const SNAPSHOT = {
  cluster: { clusterId: 'kops-l4', displayName: 'kops', provider: 'gcp', region: 'us-central1', site: '' },
  collectedAt: '2026-06-01T12:00:00Z',
  logicalCounter: '1',
  capacityPools: [
    {
      id: 'gpu',
      nodeTypes: [
        {
          id: 'g2-standard-4',
          instanceType: 'g2-standard-4',
          acceleratorModel: 'NVIDIA-L4',
          acceleratorsPerNode: 1,
          totalCount: 2,
          purchaseModel: 'PURCHASE_MODEL_ON_DEMAND',
          eligibleForTandemn: true,
        },
      ],
    },
  ],
};

const STRICT = flag('strict', 'Refuses what would give a warning.');

export const PUSH_OPERATIONS = {
  'PUT /v1/clusters/{id}/snapshot': {
    id: 'pushSnapshot',
    tag: 'snapshots',
    summary: 'Push a snapshot',
    description:
      'Checks the snapshot against the rule book and puts it in the map, whole or not at all. The same push again is a ' +
      'success. Its `clusterId` must be the one in the path, and its `logicalCounter` above every one that was accepted ' +
      'before: a 409 has the `highWaterMark`, above which an agent that lost its counter goes on.',
    query: [
      flag(
        'allow_jump',
        'Accepts a counter more than 2^53 above the last one, which is otherwise taken for an accident.',
      ),
      STRICT,
    ],
    headers: ['Observed'],
    body: ClusterResourceMapSchema,
    example: SNAPSHOT,
    responses: {
      200: {
        description: 'The push was accepted, and every later read shows it or something newer.',
        body: PushResultSchema,
        headers: [...MESSAGE_HEADERS, 'Resource-Map-Observed', 'Resource-Map-Omit-After'],
      },
    },
    problems: ['invalid_snapshot', 'counter_regressed', 'counter_reused', 'contention'],
  },

  'POST /v1/snapshots/validate': {
    id: 'validateSnapshot',
    tag: 'snapshots',
    summary: 'Try a snapshot',
    description:
      'Applies every rule that one snapshot alone can break, and stores nothing. What only a comparison with the last ' +
      'push shows is not checked.',
    query: [STRICT],
    body: ClusterResourceMapSchema,
    example: SNAPSHOT,
    responses: {
      200: {
        description: 'All findings; a snapshot that breaks rules is no error here.',
        body: ValidateResultSchema,
        headers: MESSAGE_HEADERS,
      },
    },
    problems: [],
  },

  'DELETE /v1/clusters/{id}': {
    id: 'omitCluster',
    tag: 'clusters',
    summary: 'Take a cluster out of the map',
    description:
      'The cluster is then unknown, not empty, and its next push brings it back. Its high-water mark stays. A cluster ' +
      'that is out already stays out, for the reason that it has.',
    query: [
      {
        name: 'reason',
        description: 'Shown with the status of the cluster; at most 200 bytes of UTF-8. Absent: `deleted`.',
        schema: { type: 'string', maxLength: 200 },
        example: 'maintenance',
      },
    ],
    responses: {
      200: {
        description: 'The cluster is out of the map.',
        body: ClusterStatusSchema,
        headers: MESSAGE_HEADERS,
      },
    },
    problems: ['cluster_not_found', 'contention'],
  },
} as const satisfies Operations;
