/** What the routes of pools take and answer, for the OpenAPI document. */
import { PoolListSchema, PoolSchema, StoredPoolSchema } from '../../gen/resourcemap/bundle/v1/pool_pb.ts';
import {
  LARGE_HEADERS,
  MESSAGE_HEADERS,
  type OperationResponse,
  type Operations,
} from '../../openapi/operation.ts';

const STORED: OperationResponse = {
  description: 'The pool, with its `ETag`.',
  body: StoredPoolSchema,
  headers: [...MESSAGE_HEADERS, 'ETag'],
};

export const POOL_OPERATIONS = {
  'GET /v1/pools': {
    id: 'listPools',
    tag: 'pools',
    summary: 'List the pools',
    description: 'All pools that are configured, each with what `If-Match` expects.',
    responses: {
      200: { description: 'In the order of their names.', body: PoolListSchema, headers: LARGE_HEADERS },
    },
    problems: ['map_too_large'],
  },
  'GET /v1/pools/{name}': {
    id: 'getPool',
    tag: 'pools',
    summary: 'Show a pool',
    description: 'As it was put.',
    headers: ['IfNoneMatch'],
    responses: {
      200: STORED,
      304: {
        description: 'What the client has is still current.',
        headers: ['Cache-Control', 'ETag', 'Vary'],
      },
    },
    problems: ['invalid_precondition', 'pool_not_found'],
  },
  'PUT /v1/pools/{name}': {
    id: 'putPool',
    tag: 'pools',
    summary: 'Make or replace a pool',
    description:
      'Without a precondition a pool is made, and none replaced unseen: to replace one send `If-Match`. The same pool ' +
      'again is a success.',
    headers: ['IfMatch', 'IfNothingThere'],
    body: PoolSchema,
    example: {
      tiers: [
        { tierName: 'reserved', cluster: { acceleratorModel: ['NVIDIA-H100-80GB-HBM3'] } },
        {
          tierName: 'on demand',
          elastic: { provider: 'aws', instanceTypes: [{ instanceType: 'p5.48xlarge' }] },
        },
      ],
    },
    responses: {
      200: { ...STORED, description: 'The pool was replaced, or was there already.' },
      201: { ...STORED, description: 'The pool was made.' },
    },
    problems: ['invalid_bundle_request', 'invalid_precondition', 'pool_changed', 'precondition_required'],
  },
  'DELETE /v1/pools/{name}': {
    id: 'removePool',
    tag: 'pools',
    summary: 'Remove a pool',
    description: 'With `If-Match` only while it is the one that was seen.',
    headers: ['IfMatch'],
    responses: { 204: { description: 'It is gone.' } },
    problems: ['pool_not_found', 'pool_changed', 'invalid_precondition'],
  },
} as const satisfies Operations;
