/** What the routes of capacity take and answer, for the OpenAPI document. */
import {
  CapacityResponseSchema,
  FitRequestSchema,
  FitResponseSchema,
} from '../../gen/resourcemap/v1/capacity_pb.ts';
import { LARGE_HEADERS, type Operations } from '../../openapi/operation.ts';
import { MAP_FILTER, repeatable } from '../../openapi/parameters.ts';
import { GROUP_KEYS, PURCHASE_MODELS } from './capacity-query.ts';

const YES_OR_NO = { type: 'string', enum: ['true', 'false'] };

export const CAPACITY_OPERATIONS = {
  'GET /v1/capacity': {
    id: 'getCapacity',
    tag: 'capacity',
    summary: 'Show what is left',
    description:
      'What every placement target (a node type of a pool of a cluster) has, has free on how many nodes, and will have ' +
      'once what is pending and reserved is placed. With `group_by` sums are answered instead. The ETag is over the question ' +
      'and what the rows say, without age, time and counter; `Prefer: wait` with `If-None-Match` holds the response until it is ' +
      'another.',
    query: [
      ...MAP_FILTER.filter(({ name }) => name !== 'accelerator_model'),
      repeatable('accelerator_model', 'Targets of these models, as the snapshots write them.'),
      repeatable('pool', 'Ids of pools.'),
      repeatable('node_type', 'Ids of node types.'),
      repeatable('instance_type', 'Instance types.'),
      repeatable('zone', 'Zones.'),
      repeatable('fabric', 'Ids of fabrics.'),
      repeatable('purchase_model', 'Purchase models; several may also stand in one, with commas between.', {
        type: 'string',
        enum: [...PURCHASE_MODELS.keys()],
      }),
      {
        name: 'rdma_ready',
        description: 'Whether the fabric is RDMA-ready. A target of an unknown fabric meets neither.',
        schema: YES_OR_NO,
      },
      { name: 'eligible', description: 'Whether new work may be placed there.', schema: YES_OR_NO },
      {
        name: 'claims',
        description: 'Whether what live claims hold is subtracted, which it is as a rule.',
        schema: { type: 'string', enum: ['subtract', 'ignore'] },
      },
      {
        name: 'max_age',
        description:
          'Only clusters that were collected at most so long ago count, in whole seconds such as `90s`; `staleClusters` has the others.',
        schema: { type: 'string', pattern: '^[0-9]{1,9}s$' },
      },
      repeatable('group_by', 'What to add up by; several may also stand in one, with commas between.', {
        type: 'string',
        enum: [...GROUP_KEYS.keys()],
      }),
    ],
    headers: ['AcceptEncoding', 'IfNoneMatch', 'Prefer'],
    responses: {
      200: {
        description: 'Targets, or groups of them.',
        body: CapacityResponseSchema,
        headers: [...LARGE_HEADERS, 'ETag', 'Preference-Applied'],
      },
      304: {
        description: 'What the client has is current.',
        headers: ['Cache-Control', 'ETag', 'Preference-Applied', 'Vary'],
      },
    },
    problems: ['invalid_precondition', 'map_too_large', 'too_many_waits'],
  },

  'POST /v1/capacity/fit': {
    id: 'fitShapes',
    tag: 'capacity',
    summary: 'Ask whether work fits',
    description:
      'Whether each shape fits, how many chains of it, and why not. Exact, or said to be undecided. Nothing is reserved.',
    query: [
      {
        name: 'claims',
        description: 'Whether what live claims hold is subtracted, which it is as a rule.',
        schema: { type: 'string', enum: ['subtract', 'ignore'] },
      },
    ],
    headers: ['AcceptEncoding'],
    body: FitRequestSchema,
    example: {
      shapes: [
        { podRequirements: [{ acceleratorModel: 'NVIDIA-H100-80GB-HBM3', acceleratorCount: 8 }], chains: 1 },
      ],
    },
    responses: {
      200: { description: 'One answer a shape.', body: FitResponseSchema, headers: LARGE_HEADERS },
    },
    problems: ['invalid_fit_request', 'unknown_chain', 'map_too_large'],
  },
} as const satisfies Operations;
