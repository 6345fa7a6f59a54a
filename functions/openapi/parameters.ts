/** Parameters and headers that several routes share. */

import { MAX_NAME_BYTES } from '../core/bundle/model/limits.ts';
import type { ErrorCode } from '../core/errors.ts';
import { MAX_ID_BYTES } from '../core/snapshot/limits.ts';
import { MAX_WAIT_SECONDS } from '../http/limits.ts';
import type { QueryParameter, RequestHeader, ResponseHeader } from './operation.ts';
import type { JsonSchema } from './proto-json-schema.ts';

interface Header {
  readonly description: string;
  readonly schema: JsonSchema;
  /** Of a response: on each one that lists it. */
  readonly required?: boolean;
}

/** Category Cc, and what no URL or JSON object can safely carry: the faults of a cluster id that a pattern can name. */
export const CLUSTER_ID: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: MAX_ID_BYTES,
  pattern: '^(?!(?:\\.|\\.\\.|__proto__)$)[^\\u0000-\\u001f\\u007f-\\u009f]+$',
};

export const CLUSTER_ID_PARAMETER = {
  name: 'id',
  in: 'path',
  required: true,
  description:
    `A cluster's id: 1 to ${MAX_ID_BYTES} bytes of UTF-8 without control characters. It is opaque, and in the URL ` +
    'percent-encoded, its slashes too: `arn:aws:eks:eu-west-1:1:cluster/a` is `arn%3Aaws%3Aeks%3Aeu-west-1%3A1%3Acluster%2Fa`.',
  schema: CLUSTER_ID,
  example: 'kops-l4',
} as const;

export const POOL_NAME_PARAMETER = {
  name: 'name',
  in: 'path',
  required: true,
  description:
    `A pool's name: 1 to ${MAX_NAME_BYTES} bytes of UTF-8 without control characters and slashes. In the URL it is ` +
    'percent-encoded.',
  schema: {
    type: 'string',
    minLength: 1,
    maxLength: MAX_NAME_BYTES,
    pattern: '^(?!\\.{1,2}$)[^/\\u0000-\\u001f\\u007f-\\u009f]+$',
  },
  example: 'h100',
} as const;

export const CLAIM_ID_PARAMETER = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'A UUID of version 7, made for this claim.',
  schema: { type: 'string', format: 'uuid' },
  example: '01976b2e-7c00-7abc-8def-0123456789ab',
} as const;

export const BUNDLE_ID_PARAMETER = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The id of a stored bundle; `plan` and `validate` are none.',
  schema: { type: 'string', pattern: '^(?!(?:plan|validate|\\.|\\.\\.)$)[a-z0-9.-]{1,40}$' },
  example: 'live-1',
} as const;

export const COPY_PARAMETER = {
  name: 'copy',
  in: 'path',
  required: true,
  description: 'Which copy of the bundle.',
  schema: { type: 'string', enum: ['primary', 'backup'] },
  example: 'primary',
} as const;

export const REGISTRATION_ID_PARAMETER = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The id of a registration or token, or its first 12 digits or more.',
  schema: { type: 'string', pattern: '^[0-9a-f]{12,64}$' },
  example: '3f29a01b77c4',
} as const;

/**
 * `*`, or entity tags with commas between (RFC 9110, section 8.8.3). No character can be matched in
 * two ways, so no header makes a validator slow.
 */
const ENTITY_TAG = '(?:(?:W/)?"[!#-~\\u0080-\\u00ff]*"[ \\t]*)';
const ENTITY_TAGS: JsonSchema = {
  type: 'string',
  pattern: `^[ \\t]*(?:\\*[ \\t]*|${ENTITY_TAG}?(?:,[ \\t]*${ENTITY_TAG}?)*)$`,
};

/** By the name of their component: one header may mean two things. */
export const REQUEST_HEADERS: Readonly<
  // What comes with a body, and with every request, no description need name.
  Record<RequestHeader | 'ContentEncoding' | 'XRequestId', Header & { readonly name: string }>
> = {
  ContentEncoding: {
    name: 'Content-Encoding',
    description: 'How the body is compressed; absent where it is not.',
    schema: { enum: ['gzip', 'identity'] },
  },
  XRequestId: {
    name: 'X-Request-Id',
    description: 'Names the request in the log of the service, and in the response.',
    // Text of any other kind is passed over, and the request gets an id of the service's making.
    schema: { type: 'string' },
  },
  AcceptEncoding: {
    name: 'Accept-Encoding',
    description: 'With `gzip` in it the response comes compressed.',
    schema: { type: 'string', examples: ['gzip'] },
  },
  IfMatch: {
    name: 'If-Match',
    description:
      'What must stand there for the write to happen: the `ETag` of an earlier response, several of them with commas ' +
      'between, or `*` for whatever it is. Weak ones match nothing.',
    schema: ENTITY_TAGS,
  },
  IfNothingThere: {
    name: 'If-None-Match',
    description: '`*`: the write happens only where nothing is there yet. Not together with `If-Match`.',
    schema: { const: '*' },
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    description:
      'The `ETag` of an earlier response, or several with commas between: 304 if one of them is still current.',
    schema: ENTITY_TAGS,
  },
  Observed: {
    name: 'Resource-Map-Observed',
    description:
      'The `Resource-Map-Observed` of the last response before the agent began to read its cluster, unchanged: evidence of ' +
      'how new the snapshot is that depends on no clock of the agent. Optional.',
    schema: { type: 'string' },
  },
  Prefer: {
    name: 'Prefer',
    description:
      'RFC 7240. `wait=20` has the service hold a response that would tell nothing new, for as many seconds at most; ' +
      `more than ${MAX_WAIT_SECONDS} are taken for ${MAX_WAIT_SECONDS}. Other preferences are ignored.`,
    schema: { type: 'string', examples: ['wait=20'] },
  },
};

export const REQUEST_ID_HEADER: Header = {
  description:
    'Names the request in the log of the service: the one that was sent with the request, if it has at most 255 ' +
    'letters, digits, `_`, `-` and `=`, or a new one.',
  schema: { type: 'string', pattern: '^[A-Za-z0-9_=-]{1,255}$' },
  required: true,
};

export const RESPONSE_HEADERS: Readonly<Record<ResponseHeader, Header>> = {
  'Cache-Control': {
    description:
      'Whether the response may be kept. What is kept must be asked for each time: counters never go back.',
    schema: { enum: ['private, no-cache', 'no-cache', 'no-store'] },
    required: true,
  },
  'Content-Encoding': {
    description: 'Present where the response is compressed.',
    schema: { const: 'gzip' },
  },
  'Content-Length': {
    description: 'Bytes of the body as sent.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
    required: true,
  },
  ETag: {
    description: 'For `If-None-Match`.',
    schema: { type: 'string', pattern: '^(?:W/)?"[\\u0021\\u0023-\\u007e]*"$' },
    required: true,
  },
  'Preference-Applied': {
    description: 'The wait that was granted, where one was asked for.',
    schema: { type: 'string', pattern: '^wait=[1-9][0-9]*$' },
  },
  'Resource-Map-Observed': {
    description: 'An opaque time of the service, for the `Resource-Map-Observed` of a later push.',
    schema: { type: 'string', pattern: '^t[0-9a-z]{1,10}$' },
    required: true,
  },
  'Resource-Map-Omit-After': {
    description:
      'Seconds without a push after which the cluster leaves the map. An agent whose heartbeat is above a third of it is too slow.',
    schema: { type: 'string', pattern: '^[1-9][0-9]*$' },
  },
  Vary: {
    description: 'The headers of the request on which the response depends.',
    schema: { enum: ['accept', 'accept, accept-encoding'] },
    required: true,
  },
};

const RETRY_AFTER: Header = {
  description: 'Seconds after which trying again makes sense.',
  schema: { type: 'string', pattern: '^[0-9]+$' },
  required: true,
};

/** Headers that come with a status, whatever the problem. */
const PROBLEM_HEADERS: ReadonlyMap<number, Readonly<Record<string, Header>>> = new Map<
  number,
  Readonly<Record<string, Header>>
>([
  [
    401,
    {
      'WWW-Authenticate': {
        description: 'RFC 6750: what was wrong with the token, if there was one.',
        schema: { type: 'string', pattern: '^Bearer realm="resource-map"(?:, error="invalid_token")?$' },
        required: true,
      },
    },
  ],
  [
    403,
    {
      'WWW-Authenticate': {
        description: 'RFC 6750: the token does not reach so far.',
        schema: { const: 'Bearer realm="resource-map", error="insufficient_scope"' },
        required: true,
      },
    },
  ],
  // There where the body was cut off to make room for others.
  [408, { 'Retry-After': { ...RETRY_AFTER, required: false } }],
  [429, { 'Retry-After': RETRY_AFTER }],
  [503, { 'Retry-After': RETRY_AFTER }],
]);

/** Headers of a response with one of these problems. */
export function problemHeaders(
  status: number,
  codes: readonly ErrorCode[],
): Readonly<Record<string, Header>> {
  const headers = PROBLEM_HEADERS.get(status) ?? {};
  // Another token of the same kind would reach no farther than this one.
  if (codes.includes('claim_of_another')) return optional(headers);
  // It can be said only if claims are in the way, or a bundle that is being deleted.
  return codes.includes('claim_does_not_fit') || codes.includes('bundle_deleting')
    ? optional({ ...headers, 'Retry-After': RETRY_AFTER })
    : headers;
}

function optional(headers: Readonly<Record<string, Header>>): Readonly<Record<string, Header>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, header]) => [name, { ...header, required: false }]),
  );
}

/** A parameter that can be given several times: its values are alternatives, different parameters must all hold. */
export function repeatable(
  name: string,
  description: string,
  items: JsonSchema = { type: 'string' },
): QueryParameter {
  return { name, description, schema: { type: 'array', items } };
}

/** The filter of the map. */
export const MAP_FILTER: readonly QueryParameter[] = [
  repeatable('cluster', 'Ids of clusters.'),
  repeatable('provider', 'Providers, exactly as the snapshots write them.'),
  repeatable('region', 'Regions, likewise.'),
  repeatable('site', 'Sites, likewise.'),
  repeatable('accelerator_model', 'Clusters that have one of these models, as the snapshots write it.'),
];

/** A parameter that is `true` or `false`. */
export function flag(name: string, description: string): QueryParameter {
  return { name, description, schema: { type: 'boolean', default: false } };
}
