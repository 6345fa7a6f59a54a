/** Reads a unary call of the Connect protocol (POST or GET) or of gRPC-Web from a request. */
import type { Context } from 'hono';
import { MalformedBodyError, ResourceMapError } from '../../core/errors.ts';
import type { WireFormat } from '../../core/snapshot/decode.ts';
import type { AppEnv } from '../app-env.ts';
import { inflate } from '../inflate.ts';
import { acceptsGzip } from '../media-type.ts';
import { BODY_LIMITS, type BodyLimits, readBody } from '../read-body.ts';

export type Protocol = 'connect' | 'connect-get' | 'grpc-web';

export interface CallHead {
  readonly protocol: Protocol;
  readonly format: WireFormat;
  /** Of the response. */
  readonly contentType: string;
  readonly acceptsGzip: boolean;
  /** After which the caller is no longer interested. */
  readonly timeoutMs: number | undefined;
}

export interface Call extends CallHead {
  /** The request message, inflated. */
  readonly message: Uint8Array;
}

/** Paths of RPCs: the full name of the service, and the method. No other route has a dot in its first segment and a second one. */
const RPC_PATH = /^\/(?:\w+\.)+\w+\/\w+$/;

export function isRpcPath(path: string): boolean {
  return RPC_PATH.test(path);
}

const CONTENT_TYPES: ReadonlyMap<string, readonly ['connect' | 'grpc-web', WireFormat]> = new Map([
  ['application/json', ['connect', 'json']],
  ['application/proto', ['connect', 'protobuf']],
  ['application/grpc-web', ['grpc-web', 'protobuf']],
  ['application/grpc-web+proto', ['grpc-web', 'protobuf']],
  ['application/grpc-web+json', ['grpc-web', 'json']],
]);

/** What a call's headers say; absent if its content type, or encoding in the URL, is none of ours. */
export function callHead(c: Context): CallHead | undefined {
  if (c.req.method === 'GET') {
    const encoding = c.req.query('encoding');
    if (encoding !== 'json' && encoding !== 'proto') return undefined;
    const format = encoding === 'json' ? 'json' : 'protobuf';
    return {
      protocol: 'connect-get',
      format,
      contentType: `application/${encoding}`,
      acceptsGzip: acceptsGzip(c),
      timeoutMs: connectTimeout(c),
    };
  }
  const sent = (c.req.header('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const known = CONTENT_TYPES.get(sent);
  if (known === undefined) return undefined;
  const [protocol, format] = known;
  const isConnect = protocol === 'connect';
  return {
    protocol,
    format,
    contentType: sent,
    acceptsGzip: isConnect
      ? acceptsGzip(c)
      : /(?:^|[\s,])gzip(?:$|[\s,;])/.test(c.req.header('grpc-accept-encoding') ?? ''),
    timeoutMs: isConnect ? connectTimeout(c) : grpcTimeout(c),
  };
}

/** Milliseconds in at most ten digits, as the protocol has it. */
function connectTimeout(c: Context): number | undefined {
  const value = c.req.header('connect-timeout-ms');
  if (value === undefined) return undefined;
  if (!/^\d{1,10}$/.test(value)) throw invalid(`Connect-Timeout-Ms is ${shown(value)}; send milliseconds.`);
  return Number(value);
}

const GRPC_UNITS_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

function grpcTimeout(c: Context): number | undefined {
  const value = c.req.header('grpc-timeout');
  if (value === undefined) return undefined;
  const [, amount, unit] = /^(\d{1,8})([HMSmun])$/.exec(value) ?? [];
  const unitMs = GRPC_UNITS_MS[unit ?? ''];
  if (unitMs === undefined)
    throw invalid(`grpc-timeout is ${shown(value)}; send a number and a unit, as 20S.`);
  return Number(amount) * unitMs;
}

/** Reads the message, with the limits of bodies. @throws ResourceMapError, MalformedBodyError */
export async function readCall(
  c: Context<AppEnv>,
  head: CallHead,
  limits: BodyLimits = BODY_LIMITS,
): Promise<Call> {
  switch (head.protocol) {
    case 'connect':
      return { ...head, message: await readBody(c, limits) };
    case 'connect-get':
      return { ...head, message: await messageOfUrl(c, limits) };
    case 'grpc-web':
      return { ...head, message: await messageOfEnvelope(c, limits) };
  }
}

async function messageOfUrl(c: Context, limits: BodyLimits): Promise<Uint8Array> {
  const version = c.req.query('connect');
  if (version !== undefined && version !== 'v1') {
    throw invalid(`The query parameter connect is ${shown(version)}; it can be "v1".`);
  }
  const text = c.req.query('message');
  if (text === undefined)
    throw invalid('The URL has no query parameter "message"; send it, empty if need be.');
  const base64 = c.req.query('base64') === '1';
  const sent = Buffer.from(text, base64 ? 'base64url' : 'utf8');
  return decompressed(sent, c.req.query('compression'), 'compression', limits);
}

/** Flag, and length of the message as four bytes. */
export const ENVELOPE_BYTES = 5;
export const COMPRESSED_FLAG = 1;

async function messageOfEnvelope(c: Context<AppEnv>, limits: BodyLimits): Promise<Uint8Array> {
  const body = await readBody(c, { ...limits, sentBytes: limits.sentBytes + ENVELOPE_BYTES });
  if (body.length === 0)
    throw new ResourceMapError('unsupported_encoding', 'A unary call has one message; none was sent.');
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const length = body.length < ENVELOPE_BYTES ? -1 : view.getUint32(1);
  const end = ENVELOPE_BYTES + length;
  if (length < 0 || end > body.length) {
    throw new MalformedBodyError('incomplete_body', 'The envelope of gRPC-Web is longer than the body.');
  }
  if (end < body.length)
    throw new ResourceMapError('unsupported_encoding', 'A unary call has one message; more were sent.');
  const message = body.subarray(ENVELOPE_BYTES, end);
  const encoding = c.req.header('grpc-encoding');
  if ((view.getUint8(0) & COMPRESSED_FLAG) === 0) {
    if (encoding !== undefined && encoding !== 'gzip' && encoding !== 'identity')
      throw unsupported(encoding, 'grpc-encoding');
    return message;
  }
  if (encoding === undefined || encoding === 'identity') {
    throw new ResourceMapError(
      'internal',
      'The envelope is marked as compressed, and grpc-encoding does not say how.',
    );
  }
  return decompressed(message, encoding, 'grpc-encoding', limits);
}

async function decompressed(
  sent: Uint8Array,
  encoding: string | undefined,
  name: string,
  limits: BodyLimits,
): Promise<Uint8Array> {
  if (encoding === undefined || encoding === '' || encoding === 'identity') return sent;
  if (encoding !== 'gzip') throw unsupported(encoding, name);
  // What is empty is not compressed, whatever the encoding.
  return sent.length === 0 ? sent : inflate(sent, limits.inflatedBytes);
}

function unsupported(encoding: string, name: string): ResourceMapError {
  return new ResourceMapError(
    'unsupported_encoding',
    `${name} is ${shown(encoding)}; it can be gzip or identity.`,
  );
}

function invalid(detail: string): ResourceMapError {
  return new ResourceMapError('invalid_query', detail);
}

function shown(value: string): string {
  return JSON.stringify(value.slice(0, 100));
}
