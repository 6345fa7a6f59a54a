/** Which of the two wire formats a request is in, and which one the response shall have. */
import type { Context } from 'hono';
import { parseAccept } from 'hono/utils/accept';
import { ResourceMapError } from '../core/errors.ts';
import type { WireFormat } from '../core/snapshot/decode.ts';

/** `application/x-protobuf` is what Prometheus made common, `application/protobuf` what IANA has. */
const FORMATS: ReadonlyMap<string, WireFormat> = new Map([
  ['application/x-protobuf', 'protobuf'],
  ['application/protobuf', 'protobuf'],
  ['application/json', 'json'],
]);
const OFFERED = [...FORMATS.keys()].join(', ');

/** @throws ResourceMapError `unsupported_media_type` */
export function requestFormat(c: Context): WireFormat {
  const header = c.req.header('content-type');
  const format = FORMATS.get((header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '');
  if (format !== undefined) return format;
  throw new ResourceMapError(
    'unsupported_media_type',
    `${header === undefined ? 'The request has no Content-Type' : `The Content-Type is ${JSON.stringify(header.slice(0, 100))}`}; ` +
      `send one of ${OFFERED}.`,
    { field: 'Content-Type', ...(header === undefined ? {} : { value: header }) },
  );
}

/** How the response is to be written. */
export interface ResponseFormat {
  readonly format: WireFormat;
  readonly contentType: string;
}

const JSON_FORMAT: ResponseFormat = { format: 'json', contentType: 'application/json' };
const PROTOBUF_FORMAT: ResponseFormat = { format: 'protobuf', contentType: 'application/x-protobuf' };

/**
 * The format that the client prefers; JSON for a client that does not say.
 *
 * @throws ResourceMapError `not_acceptable`
 */
export function responseFormat(c: Context): ResponseFormat {
  const header = c.req.header('accept');
  if (header === undefined || header.trim() === '') return JSON_FORMAT;
  const ranges = parseAccept(header).map(({ type, q }) => ({ type: type.toLowerCase(), q }));
  const refused = new Set(ranges.filter(({ q }) => q === 0).map(({ type }) => type));
  for (const { type } of ranges.filter(({ q }) => q > 0).sort((a, b) => b.q - a.q)) {
    const format = FORMATS.get(type);
    if (format !== undefined) return { format, contentType: type };
    if (type !== '*/*' && type !== 'application/*') continue;
    const any = [JSON_FORMAT, PROTOBUF_FORMAT].find(({ contentType }) => !refused.has(contentType));
    if (any !== undefined) return any;
  }
  throw new ResourceMapError(
    'not_acceptable',
    `The Accept header ${JSON.stringify(header.slice(0, 100))} names none of ${OFFERED}.`,
    { field: 'Accept', value: header },
  );
}

/** Whether the client takes gzip. */
export function acceptsGzip(c: Context): boolean {
  const header = c.req.header('accept-encoding');
  if (header === undefined) return false;
  const codings = parseAccept(header);
  const gzip = codings.find((a) => a.type.toLowerCase() === 'gzip' || a.type.toLowerCase() === 'x-gzip');
  return (
    (gzip ?? codings.find((a) => a.type === '*'))?.q !== 0 &&
    (gzip !== undefined || codings.some((a) => a.type === '*'))
  );
}
