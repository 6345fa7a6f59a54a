/** What the routes of claims take and answer, for the OpenAPI document. */
import {
  ClaimListSchema,
  ClaimRenewalSchema,
  ClaimRequestSchema,
  ClaimSchema,
} from '../../gen/resourcemap/v1/claims_pb.ts';
import {
  LARGE_HEADERS,
  MESSAGE_HEADERS,
  type OperationResponse,
  type Operations,
} from '../../openapi/operation.ts';
import { CLUSTER_ID, flag, repeatable } from '../../openapi/parameters.ts';

const CLUSTER = {
  name: 'cluster',
  description: 'The id of the one cluster that the claim is in. Required.',
  schema: CLUSTER_ID,
};

const CLAIM: OperationResponse = {
  description: 'The claim as it is now.',
  body: ClaimSchema,
  headers: MESSAGE_HEADERS,
};

const OF_A_CLAIM = ['invalid_claim', 'invalid_cluster_id', 'cluster_not_found', 'contention'] as const;
const OF_A_CHANGE = [
  ...OF_A_CLAIM,
  'claim_not_found',
  'claim_of_another',
  'claim_ended',
  'cluster_omitted',
  'snapshot_unavailable',
] as const;

export const CLAIM_OPERATIONS = {
  'GET /v1/claims': {
    id: 'listClaims',
    tag: 'claims',
    summary: 'List claims',
    description:
      'Live claims and those that ended within 2 minutes, with what is derived as of now. `Prefer: wait` with ' +
      '`If-None-Match` holds the response until something changed.',
    query: [
      repeatable('cluster', 'Ids of clusters.'),
      repeatable('owner', 'Owners; `self` is the caller.'),
      repeatable('job', 'Ids of jobs.'),
      repeatable('state', 'States.', {
        type: 'string',
        enum: ['held', 'confirmed', 'fulfilled', 'released', 'expired', 'broken'],
      }),
    ],
    headers: ['AcceptEncoding', 'IfNoneMatch', 'Prefer'],
    responses: {
      200: {
        description: 'In order of cluster and fence.',
        body: ClaimListSchema,
        headers: [...LARGE_HEADERS, 'ETag'],
      },
      304: { description: 'What the client has is current.', headers: ['Cache-Control', 'ETag', 'Vary'] },
    },
    problems: ['invalid_cluster_id', 'invalid_precondition', 'map_too_large', 'too_many_waits'],
  },
  'GET /v1/claims/{id}': {
    id: 'getClaim',
    tag: 'claims',
    summary: 'Show a claim',
    description:
      'With whether it is backed, and why not. `Prefer: wait` holds the response until it has ended.',
    query: [CLUSTER],
    headers: ['Prefer'],
    responses: { 200: CLAIM },
    problems: [...OF_A_CLAIM, 'forbidden', 'claim_not_found', 'too_many_waits'],
  },
  'PUT /v1/claims/{id}': {
    id: 'putClaim',
    tag: 'claims',
    summary: 'Claim capacity',
    description:
      'Holds pods on targets of one cluster, and on no particular node, behind demand that is served and all earlier ' +
      'claims: the whole of it or nothing. The id, a UUID of version 7, is the idempotency key: the same request again is ' +
      'a success. Nothing may be started on a claim before it is confirmed.',
    query: [CLUSTER, flag('dry_run', 'Judges, and writes nothing.')],
    body: ClaimRequestSchema,
    example: {
      jobId: 'llm',
      ranks: [
        { chains: 1, podRequirements: [{ acceleratorModel: 'NVIDIA-H100-80GB-HBM3', acceleratorCount: 8 }] },
      ],
      ttl: '60s',
    },
    responses: {
      200: {
        ...CLAIM,
        description: 'It was accepted before, its chains are there already, or this was a dry run.',
      },
      201: { ...CLAIM, description: 'Accepted.' },
    },
    problems: [
      ...OF_A_CHANGE,
      'invalid_fit_request',
      'claim_does_not_fit',
      'claim_undecided',
      'claim_exists',
      'too_many_claims',
    ],
  },
  'POST /v1/claims/{id}/confirm': {
    id: 'confirmClaim',
    tag: 'claims',
    summary: 'Confirm a claim',
    description:
      'Judges the claim on the newest snapshot. From then on, and until `expires_in` counted from before the request was ' +
      'sent, work may be started on it.',
    query: [CLUSTER],
    body: ClaimRenewalSchema,
    example: { ttl: '900s' },
    responses: { 200: CLAIM },
    problems: [...OF_A_CHANGE, 'claim_unbacked', 'claim_undecided'],
  },
  'POST /v1/claims/{id}/renew': {
    id: 'renewClaim',
    tag: 'claims',
    summary: 'Let a claim live longer',
    description: 'From now on, at most until 30 minutes (held) or 24 hours (confirmed) after its acceptance.',
    query: [CLUSTER],
    body: ClaimRenewalSchema,
    example: { ttl: '60s' },
    responses: { 200: CLAIM },
    problems: OF_A_CHANGE,
  },
  'DELETE /v1/claims/{id}': {
    id: 'releaseClaim',
    tag: 'claims',
    summary: 'Release a claim',
    description:
      'A held claim is over at once. A confirmed one counts until a start before its end can be ruled out, unless its ' +
      'owner says with `never_started=true` that nobody was told of it. A success too if it had ended or never was.',
    query: [
      CLUSTER,
      { name: 'reason', description: 'Why, for the record of the claim.', schema: { type: 'string' } },
      flag('never_started', 'Nobody was told of the confirmed claim.'),
    ],
    responses: { 200: CLAIM },
    problems: [...OF_A_CLAIM, 'claim_of_another'],
  },
} as const satisfies Operations;
