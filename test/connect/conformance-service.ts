/**
 * The ConformanceService on our adapter, as connectconformance starts it: it gets its settings on stdin and says
 * on stdout where it listens. Its messages are described by the set in CONFORMANCE_DESCRIPTORS.
 */
import { readFileSync, readSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import {
  create,
  createFileRegistry,
  type DescMessage,
  fromBinary,
  fromJsonString,
  type Message,
  toBinary,
  toJsonString,
} from '@bufbuild/protobuf';
import { type Any, AnySchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { serve } from '@hono/node-server';
import type { Context } from 'hono';
import { ResourceMapError } from '../../functions/core/errors.ts';
import { createApp } from '../../functions/http/app.ts';
import type { AppEnv } from '../../functions/http/app-env.ts';
import { type Call, callHead } from '../../functions/http/connect/read-call.ts';
import { RPC_CODES, type RpcCode, rpcErrorOf } from '../../functions/http/connect/rpc-error.ts';
import { rpcErrors } from '../../functions/http/connect/rpc-errors.ts';
import { serveUnary } from '../../functions/http/connect/unary.ts';
import { errorResponse, messageResponse } from '../../functions/http/connect/write-response.ts';
import { jsonLinesTelemetry } from '../../functions/runtime/telemetry.ts';

const PACKAGE = 'connectrpc.conformance.v1';

const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, readFileSync(process.env.CONFORMANCE_DESCRIPTORS ?? '')),
);

function described(name: string): DescMessage {
  const found = registry.getMessage(`${PACKAGE}.${name}`);
  if (found === undefined) throw new Error(`The descriptors have no ${PACKAGE}.${name}.`);
  return found;
}

interface Header {
  readonly name: string;
  readonly value: readonly string[];
}

/** Of an UnaryRequest and an IdempotentUnaryRequest. */
type UnaryRequest = Message & {
  readonly responseDefinition?: {
    readonly responseHeaders: readonly Header[];
    readonly responseTrailers: readonly Header[];
    readonly responseDelayMs: number;
    readonly response:
      | { readonly case: 'responseData'; readonly value: Uint8Array }
      | {
          readonly case: 'error';
          readonly value: {
            readonly code: number;
            readonly message?: string;
            readonly details: readonly Any[];
          };
        }
      | { readonly case: undefined };
  };
};

function headersOf(list: readonly Header[]): Headers {
  const headers = new Headers();
  for (const { name, value } of list) for (const one of value) headers.append(name, one);
  return headers;
}

function codeOf(wanted: number): RpcCode {
  const codes = Object.keys(RPC_CODES) as RpcCode[];
  return codes.find((code) => RPC_CODES[code].number === wanted) ?? 'unknown';
}

async function respond(c: Context<AppEnv>, call: Call, name: 'Unary' | 'IdempotentUnary'): Promise<Response> {
  const requestType = described(`${name}Request`);
  const request = (
    call.format === 'protobuf'
      ? fromBinary(requestType, call.message)
      : fromJsonString(requestType, Buffer.from(call.message).toString(), { registry })
  ) as UnaryRequest;
  const definition = request.responseDefinition;
  await new Promise((resolve) => setTimeout(resolve, definition?.responseDelayMs ?? 0));
  const metadata = {
    headers: headersOf(definition?.responseHeaders ?? []),
    trailers: headersOf(definition?.responseTrailers ?? []),
  };
  const any = create(AnySchema, {
    typeUrl: `type.googleapis.com/${requestType.typeName}`,
    value: toBinary(requestType, request),
  });
  const requestInfo = create(described('ConformancePayload.RequestInfo'), {
    requestHeaders: Object.entries(c.req.header()).map(([header, value]) => ({
      name: header,
      value: [value],
    })),
    ...(call.timeoutMs === undefined ? {} : { timeoutMs: BigInt(Math.floor(call.timeoutMs)) }),
    requests: [any],
    connectGetInfo: {
      queryParams: Object.entries(c.req.queries()).map(([parameter, value]) => ({ name: parameter, value })),
    },
  } as Record<string, unknown>);
  if (definition?.response.case === 'error') {
    const { code, message = '', details } = definition.response.value;
    const info = {
      typeUrl: `type.googleapis.com/${PACKAGE}.ConformancePayload.RequestInfo`,
      value: toBinary(described('ConformancePayload.RequestInfo'), requestInfo),
    };
    return errorResponse(
      call,
      {
        code: codeOf(code),
        message,
        details: [...details, info].map(({ typeUrl, value }) => ({
          type: typeUrl.slice(typeUrl.lastIndexOf('/') + 1),
          value,
        })),
      },
      metadata,
    );
  }
  const data = definition?.response.case === 'responseData' ? definition.response.value : new Uint8Array();
  const responseType = described(`${name}Response`);
  const response = create(responseType, { payload: { data, requestInfo } } as Record<string, unknown>);
  const body =
    call.format === 'protobuf'
      ? toBinary(responseType, response)
      : new TextEncoder().encode(toJsonString(responseType, response, { registry }));
  return messageResponse(call, call.acceptsGzip ? gzipSync(body) : body, call.acceptsGzip, metadata);
}

/** The runner keeps stdin open, so no more is read than the message. */
function readStdin(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; ) {
    const read = readSync(0, bytes, at, length - at, null);
    if (read === 0) throw new Error('stdin ended before the settings were complete.');
    at += read;
  }
  return bytes;
}

const settings = fromBinary(
  described('ServerCompatRequest'),
  readStdin(readStdin(4).readUInt32BE(0)),
) as Message & { readonly messageReceiveLimit: number };
const limit = settings.messageReceiveLimit || 10_000_000;
const limits = { sentBytes: limit, inflatedBytes: limit };

const app = createApp(
  jsonLinesTelemetry(() => undefined),
  { kind: 'open' },
  undefined,
  rpcErrors(),
);
for (const name of ['Unary', 'IdempotentUnary'] as const) {
  app.on(['GET', 'POST'], `/${PACKAGE}.ConformanceService/${name}`, async (c) => {
    try {
      return await serveUnary(c, name === 'IdempotentUnary', (call) => respond(c, call, name), limits);
    } catch (thrown) {
      // The suite allows no details but those that it asked for, and ours come with every error.
      const error = rpcErrorOf({ ...ResourceMapError.from(thrown), requestId: c.get('requestId') });
      return errorResponse(callHead(c), { ...error, details: [] });
    }
  });
}
const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }: AddressInfo) => {
  const responseType = described('ServerCompatResponse');
  const message = toBinary(
    responseType,
    create(responseType, { host: '127.0.0.1', port } as Record<string, unknown>),
  );
  const length = Buffer.alloc(4);
  length.writeUInt32BE(message.length);
  process.stdout.write(Buffer.concat([length, message]));
});
process.once('SIGTERM', () => server.close());
