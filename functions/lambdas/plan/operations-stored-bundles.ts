/** What the routes of stored bundles take and answer, for the OpenAPI document. */
import { BundleSchema } from '../../gen/resourcemap/bundle/v1/bundle_pb.ts';
import {
  BundleListSchema,
  BundleRecordSchema,
  BundleStopTimeSchema,
} from '../../gen/resourcemap/bundle/v1/live_pb.ts';
import {
  LARGE_HEADERS,
  MESSAGE_HEADERS,
  type OperationResponse,
  type Operations,
} from '../../openapi/operation.ts';
import { flag, repeatable } from '../../openapi/parameters.ts';

const RECORD: OperationResponse = {
  description: 'The bundle and what became of it, with the `ETag` of the bundle.',
  body: BundleRecordSchema,
  headers: [...MESSAGE_HEADERS, 'ETag'],
};

const GONE: OperationResponse = { description: 'It is gone.' };

const OF_A_CHANGE = ['bundle_not_found', 'bundle_of_another', 'contention'] as const;

export const STORED_BUNDLE_OPERATIONS = {
  'GET /v1/bundles': {
    id: 'listBundles',
    tag: 'bundles',
    summary: 'List stored bundles',
    description:
      'With what became of each. `Prefer: wait` with `If-None-Match` holds the response until one of them changed.',
    query: [
      repeatable('state', 'States.', { type: 'string', enum: ['live', 'deleting'] }),
      repeatable('phase', 'Phases of which one of its copies is in one.', {
        type: 'string',
        enum: ['pending', 'acquiring', 'placed', 'running', 'unknown', 'done', 'stopping'],
      }),
      repeatable('owner', 'Owners; `self` is the caller.'),
      repeatable('pool', 'Names of placement pools.'),
      repeatable('band', 'Priority bands.', { type: 'string', enum: ['gold', 'silver', 'bronze'] }),
    ],
    headers: ['AcceptEncoding', 'IfNoneMatch', 'Prefer'],
    responses: {
      200: { description: 'In order of id.', body: BundleListSchema, headers: [...LARGE_HEADERS, 'ETag'] },
      304: { description: 'What the client has is current.', headers: ['Cache-Control', 'ETag', 'Vary'] },
    },
    problems: ['invalid_precondition', 'map_too_large', 'too_many_waits'],
  },
  'GET /v1/bundles/{id}': {
    id: 'getBundle',
    tag: 'bundles',
    summary: 'Show a stored bundle',
    description:
      'With what became of it. `Prefer: wait` with `rev` holds the response until the record is a later one.',
    query: [
      {
        name: 'rev',
        description: 'The `rev` of the record that the client has.',
        schema: { type: 'string', pattern: '^[0-9]{1,19}$' },
      },
    ],
    headers: ['Prefer'],
    responses: { 200: RECORD },
    problems: ['bundle_not_found', 'too_many_waits'],
  },
  'PUT /v1/bundles/{id}': {
    id: 'putBundle',
    tag: 'bundles',
    summary: 'Store a bundle, and keep it placed',
    description:
      'It is placed at once if it can be, and from then on each minute. Without a precondition a bundle is made, and ' +
      'none replaced unseen. The same again is a success. A changed bundle of which a copy has a place is refused ' +
      'without `replace`.',
    query: [
      flag('dry_run', 'Only say where it would be placed.'),
      flag(
        'replace',
        'Stop copies of the former bundle: the backup first, the primary once the new backup runs.',
      ),
      flag('paused', 'Place nothing new.'),
      flag('repair_degraded', 'Move a degraded copy once another domain is free.'),
      {
        name: 'replace_unknown_after',
        description: 'Replace a copy whose cluster has been silent for so long. Absent or `0s`: never.',
        schema: { type: 'string', pattern: '^[0-9]{1,9}s$' },
      },
    ],
    headers: ['IfMatch', 'IfNothingThere'],
    body: BundleSchema,
    example: {
      pool: 'h100',
      jobs: [
        {
          jobName: 'train',
          requirements: {
            requiredCapabilities: [{ name: 'resource-map/accelerator', count: 8 }],
            priorityBand: 'gold',
          },
        },
      ],
    },
    responses: { 200: RECORD, 201: { ...RECORD, description: 'The bundle was made.' } },
    problems: [
      'invalid_bundle_request',
      'invalid_precondition',
      'bundle_changed',
      'precondition_required',
      'bundle_running',
      'bundle_deleting',
      'bundle_of_another',
      'too_many_bundles',
      'contention',
    ],
  },
  'DELETE /v1/bundles/{id}': {
    id: 'deleteBundle',
    tag: 'bundles',
    summary: 'Stop and delete a bundle',
    description:
      'It is `deleting` until no snapshot shows anything of it, and then gone. What was never placed is gone at once.',
    query: [
      { name: 'reason', description: 'Kept in the record and in the event.', schema: { type: 'string' } },
      flag('force', 'Remove it whatever runs; for administrators.'),
    ],
    headers: ['IfMatch'],
    responses: { 200: RECORD, 204: GONE },
    problems: [...OF_A_CHANGE, 'bundle_changed', 'invalid_precondition'],
  },
  'POST /v1/bundles/{id}/stop-time': {
    id: 'setBundleStopTime',
    tag: 'bundles',
    summary: 'Set when a bundle stops',
    description: 'It is deleted then, on the minute. Without `stopAt` it runs until it is deleted.',
    body: BundleStopTimeSchema,
    example: { stopAt: '2030-01-01T00:00:00Z' },
    responses: { 200: RECORD },
    problems: [...OF_A_CHANGE, 'bundle_deleting', 'invalid_bundle_request'],
  },
  'POST /v1/bundles/{id}/copies/{copy}/move': {
    id: 'moveBundleCopy',
    tag: 'bundles',
    summary: 'Move a copy away from its node types',
    description:
      'For drains. It stops, and is placed elsewhere once it has ended. If there is no other place it stays.',
    responses: { 200: RECORD },
    problems: [...OF_A_CHANGE, 'bundle_deleting'],
  },
} as const satisfies Operations;
