/**
 * How a route is described. Descriptions are plain data beside the routes, and no
 * function loads it: the document is made of it when the project is built.
 */
import type { DescMessage } from '@bufbuild/protobuf';
import type { ErrorCode } from '../core/errors.ts';
import type { JsonSchema } from './proto-json-schema.ts';

export type Tag =
  | 'snapshots'
  | 'clusters'
  | 'map'
  | 'capacity'
  | 'bundles'
  | 'pools'
  | 'claims'
  | 'access'
  | 'about';

/** Names of {@link RESPONSE_HEADERS}. */
export type ResponseHeader =
  | 'Cache-Control'
  | 'Content-Encoding'
  | 'Content-Length'
  | 'ETag'
  | 'Preference-Applied'
  | 'Resource-Map-Observed'
  | 'Resource-Map-Omit-After'
  | 'Vary';

/** Names of {@link REQUEST_HEADERS}. */
export type RequestHeader =
  | 'AcceptEncoding'
  | 'IfMatch'
  | 'IfNoneMatch'
  | 'IfNothingThere'
  | 'Observed'
  | 'Prefer';

export interface QueryParameter {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonSchema;
  readonly example?: unknown;
}

/** What a route answers when all is well. */
export interface OperationResponse {
  readonly description: string;
  /** A message, in the format that the client asks for; JSON of another shape; or no body at all. */
  readonly body?: DescMessage | JsonSchema;
  readonly headers?: readonly ResponseHeader[];
}

export type SuccessStatus = 200 | 201 | 204 | 304;

export interface Operation {
  /** Unique; generated clients name their methods by it. */
  readonly id: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description: string;
  readonly query?: readonly QueryParameter[];
  readonly headers?: readonly RequestHeader[];
  /** The message that the request carries. */
  readonly body?: DescMessage;
  /** A body in JSON that is accepted as it is. */
  readonly example?: JsonSchema;
  readonly responses: Readonly<Partial<Record<SuccessStatus, OperationResponse>>>;
  /** The codes of its own; those that come with a token, a body, a query or a cluster id in the path are added. */
  readonly problems: readonly ErrorCode[];
}

/** By name of the route: `GET /v1/clusters/{id}`. */
export type Operations = Readonly<Record<`${'GET' | 'PUT' | 'POST' | 'DELETE'} /${string}`, Operation>>;

/** Headers of a response that is a message of moderate size. */
export const MESSAGE_HEADERS = ['Cache-Control', 'Vary'] as const satisfies readonly ResponseHeader[];

/** Headers of a response that may be large, and is then sent in gzip to clients that accept it. */
export const LARGE_HEADERS = [
  'Cache-Control',
  'Content-Encoding',
  'Content-Length',
  'Vary',
] as const satisfies readonly ResponseHeader[];
