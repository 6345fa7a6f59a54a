/** What the routes of the map take and answer, for the OpenAPI document. */
import { CONDITIONS } from '../../core/map/condition.ts';
import {
  ClusterResourceMapSchema,
  GlobalResourceMapSchema,
} from '../../gen/resourcemap/v1/resource_map_pb.ts';
import {
  ClusterListSchema,
  ClusterStatusSchema,
  SyncRequestSchema,
  SyncResponseSchema,
  VectorClockSchema,
} from '../../gen/resourcemap/v1/service_pb.ts';
import { MAX_LISTED_CLUSTERS, MAX_SEARCH_LENGTH } from '../../http/limits.ts';
import {
  LARGE_HEADERS,
  MESSAGE_HEADERS,
  type OperationResponse,
  type Operations,
} from '../../openapi/operation.ts';
import { MAP_FILTER, repeatable } from '../../openapi/parameters.ts';

const STILL_STANDS: OperationResponse = {
  description: 'What the client has is still current.',
  headers: ['Cache-Control', 'ETag', 'Vary'],
};

export const MAP_OPERATIONS = {
  'GET /v1/map': {
    id: 'getMap',
    tag: 'map',
    summary: 'Fetch the map',
    description:
      'One snapshot of every cluster in the map, and the vector clock, whose keys are exactly these clusters. A cluster ' +
      'that is absent is unknown, not empty. No counter is ever below one that any response gave before.',
    query: MAP_FILTER,
    headers: ['AcceptEncoding', 'IfNoneMatch', 'Prefer'],
    responses: {
      200: {
        description: 'The map, or what of it passes the filter.',
        body: GlobalResourceMapSchema,
        headers: [...LARGE_HEADERS, 'ETag', 'Preference-Applied'],
      },
      304: { ...STILL_STANDS, headers: ['Cache-Control', 'ETag', 'Preference-Applied', 'Vary'] },
    },
    problems: ['invalid_precondition', 'map_too_large', 'too_many_waits'],
  },

  'GET /v1/map/clock': {
    id: 'getClock',
    tag: 'map',
    summary: 'Fetch the clock alone',
    description:
      'The counter of every cluster in the map. Its `ETag` is that of the map under the same filter.',
    query: MAP_FILTER,
    headers: ['AcceptEncoding', 'IfNoneMatch'],
    responses: {
      200: { description: 'The clock.', body: VectorClockSchema, headers: [...LARGE_HEADERS, 'ETag'] },
      304: STILL_STANDS,
    },
    problems: ['invalid_precondition', 'map_too_large'],
  },

  'POST /v1/map/sync': {
    id: 'syncMap',
    tag: 'map',
    summary: 'Fetch what changed',
    description:
      "What changed since the caller's clock: snapshots whose content it lacks, clusters of which only counter and time " +
      'moved, and those that left. Where `complete` is false, apply the response and ask again at once.',
    headers: ['AcceptEncoding', 'Prefer'],
    body: SyncRequestSchema,
    example: { vectorClock: { 'kops-l4': '103' } },
    responses: {
      200: {
        description: 'The changes, as many as the byte budget holds.',
        body: SyncResponseSchema,
        headers: [...LARGE_HEADERS, 'Preference-Applied'],
      },
    },
    problems: ['map_too_large', 'too_many_waits'],
  },

  'GET /v1/wait/map': {
    id: 'waitForMap',
    tag: 'map',
    summary: 'Fetch the map once it has changed',
    description:
      'As `GET /v1/map`, and with `Prefer: wait` it is held until the map is another than `If-None-Match` names. A ' +
      'deployed service ignores `Prefer: wait` on `GET /v1/map`, so that readers who wait leave room for pushes.',
    query: MAP_FILTER,
    headers: ['AcceptEncoding', 'IfNoneMatch', 'Prefer'],
    responses: {
      200: {
        description: 'The map, or what of it passes the filter.',
        body: GlobalResourceMapSchema,
        headers: [...LARGE_HEADERS, 'ETag', 'Preference-Applied'],
      },
      304: { ...STILL_STANDS, headers: ['Cache-Control', 'ETag', 'Preference-Applied', 'Vary'] },
    },
    problems: ['invalid_precondition', 'map_too_large', 'too_many_waits'],
  },

  'POST /v1/wait/map/sync': {
    id: 'waitForSync',
    tag: 'map',
    summary: 'Fetch what changed, once something has',
    description:
      'As `POST /v1/map/sync`, and with `Prefer: wait` it is held until there is a change. A deployed service ignores ' +
      '`Prefer: wait` on `POST /v1/map/sync`.',
    headers: ['AcceptEncoding', 'Prefer'],
    body: SyncRequestSchema,
    example: { vectorClock: { 'kops-l4': '103' } },
    responses: {
      200: {
        description: 'The changes, as many as the byte budget holds.',
        body: SyncResponseSchema,
        headers: [...LARGE_HEADERS, 'Preference-Applied'],
      },
    },
    problems: ['map_too_large', 'too_many_waits'],
  },

  'GET /v1/clusters': {
    id: 'listClusters',
    tag: 'clusters',
    summary: 'List the clusters',
    description:
      'The status of every cluster that is known, those out of the map too. An agent sees its own. `counts` are of all ' +
      'of them, whatever the list is narrowed to.',
    query: [
      ...MAP_FILTER,
      repeatable('state', 'Whether they are in the map.', { type: 'string', enum: ['included', 'omitted'] }),
      repeatable(
        'condition',
        'What is to be looked at: in the map; stale (no push for three minutes, or collected more than ten minutes ago); ' +
          'warned of; refused at the last push; out of the map.',
        { type: 'string', enum: [...CONDITIONS] },
      ),
      {
        name: 'search',
        description: 'A part of the id, the display name, provider, region or site, in any case.',
        schema: { type: 'string', maxLength: MAX_SEARCH_LENGTH },
      },
      {
        name: 'changed_since',
        description: 'Clusters of which the content, the state or the last refusal changed then or later.',
        schema: { type: 'string', format: 'date-time' },
      },
      {
        name: 'limit',
        description: 'At most so many, the first by id; `matching` says how many there are.',
        schema: { type: 'integer', minimum: 1, maximum: MAX_LISTED_CLUSTERS },
      },
    ],
    headers: ['AcceptEncoding'],
    responses: {
      200: {
        description: 'All that match, or the first of them.',
        body: ClusterListSchema,
        headers: LARGE_HEADERS,
      },
    },
    problems: ['map_too_large'],
  },

  'GET /v1/clusters/{id}': {
    id: 'getCluster',
    tag: 'clusters',
    summary: 'Show a cluster',
    description: 'Its status, with the first twenty warnings that its snapshot gives.',
    responses: {
      200: { description: 'The status.', body: ClusterStatusSchema, headers: MESSAGE_HEADERS },
    },
    problems: ['cluster_not_found'],
  },

  'GET /v1/clusters/{id}/snapshot': {
    id: 'getSnapshot',
    tag: 'snapshots',
    summary: 'Fetch the snapshot of a cluster',
    description: 'As it stands in the map: what was pushed, in canonical order.',
    headers: ['AcceptEncoding'],
    responses: {
      200: { description: 'The snapshot.', body: ClusterResourceMapSchema, headers: LARGE_HEADERS },
    },
    problems: ['cluster_not_found', 'cluster_omitted', 'snapshot_unavailable', 'map_too_large'],
  },
} as const satisfies Operations;
