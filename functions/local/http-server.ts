/**
 * An app behind Node's HTTP server, with limits on what never reaches the app. What the
 * server itself refuses is answered with problem details like everything else.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import { ResourceMapError } from '../core/errors.ts';
import type { App } from '../http/app-env.ts';
import {
  CLOSE_GRACE_MS,
  HEADERS_TIMEOUT_MS,
  MAX_HEADER_BYTES,
  REQUEST_TIMEOUT_MS,
  TIMEOUT_CHECK_MS,
} from '../http/limits.ts';
import { problemOf } from '../http/problem.ts';

/** A server that answers. */
export interface HttpServer {
  readonly port: number;
  /**
   * Takes nothing more, and ends once the responses under way are sent, or after
   * the grace: a client that takes no more of its response, or sends no more of its
   * request, would keep it forever.
   */
  close(): Promise<void>;
}

/**
 * Listens; the server takes requests once this resolves.
 *
 * @param port 0 picks a free one
 * @param graceMs milliseconds that requests under way have to end once the server closes
 */
export function listen(app: App, host: string, port: number, graceMs = CLOSE_GRACE_MS): Promise<HttpServer> {
  const responding = new Set<Promise<unknown>>();
  const fetch: typeof app.fetch = (request, ...rest) => {
    const response = Promise.resolve(app.fetch(request, ...rest));
    responding.add(response);
    const done = (): void => void responding.delete(response);
    response.then(done, done);
    return response;
  };
  const answer = getRequestListener(fetch, {
    overrideGlobalObjects: false,
    // Only for what cannot become a request at all: errors of the app are answered by the app.
    errorHandler: (error) => refusal(new ResourceMapError('malformed_request', unreadable(error))),
  });
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      // Node would answer without a word; the listener refuses a request without Host as well.
      requireHostHeader: false,
    },
    answer,
  );
  // Likewise: what a client expects of us beyond 100-continue does not change the response.
  server.on('checkExpectation', answer);
  const underWay = responsesInProgress(server);
  server.on('clientError', (cause: NodeJS.ErrnoException, socket) => {
    const midResponse = [...(underWay.get(socket) ?? [])].some(
      (each) => each.headersSent && !each.writableFinished,
    );
    if (cause.code === 'ECONNRESET' || !socket.writable || midResponse) socket.destroy();
    else refuseRaw(cause, socket);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () =>
      resolve({
        port: (server.address() as AddressInfo).port,
        close: () => close(server, underWay, responding, graceMs),
      }),
    );
  });
}

/** For each connection the responses under way on it. Those that it ends before are told so. */
function responsesInProgress(server: Server): ReadonlyMap<Duplex, ReadonlySet<ServerResponse>> {
  const underWay = new Map<Duplex, Set<ServerResponse>>();
  server.on('connection', (socket) => {
    const responses = new Set<ServerResponse>();
    underWay.set(socket, responses);
    socket.on('close', () => {
      underWay.delete(socket);
      // Node tells the one that has the connection; those behind it (pipelining) would wait for it forever.
      for (const each of responses) if (each.socket === null) each.destroy().emit('close');
    });
  });
  server.on('request', ({ socket }, response) => {
    const responses = underWay.get(socket);
    responses?.add(response);
    response.once('close', () => responses?.delete(response));
  });
  return underWay;
}

/** @param responding what makes responses, be they for clients that have gone */
async function close(
  server: Server,
  underWay: ReadonlyMap<Duplex, ReadonlySet<ServerResponse>>,
  responding: ReadonlySet<Promise<unknown>>,
  graceMs: number,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // No connection is kept for another request, be its response under way or still to come: a client
  // that asks again at once, as one that listens for events does, would keep the server open.
  server.prependListener('request', (_, response) => {
    response.shouldKeepAlive = false;
  });
  for (const responses of underWay.values()) {
    for (const each of responses) {
      each.shouldKeepAlive = false;
      each.once('close', () => server.closeIdleConnections());
    }
  }
  server.closeIdleConnections();
  // To Node a connection is idle after a request only, and once closed it times none out that never sends one.
  for (const [socket, responses] of underWay) if (responses.size === 0) socket.destroy();

  const grace = new AbortController();
  const { signal } = grace;
  const timedOut = sleep(graceMs, undefined, { signal }).catch(() => undefined);
  await Promise.race([closed, timedOut]);
  server.closeAllConnections();
  await closed;
  // The caller closes the store next, which is not to be in use any more.
  await Promise.race([Promise.allSettled([...responding]), timedOut]);
  grace.abort();
}

function refusal(error: ResourceMapError): Response {
  const { status, headers, body } = withRequestId(error);
  return new Response(body, { status, headers });
}

/** Writes a response where Node has no request to answer: the parser gave up on the connection. */
function refuseRaw(cause: NodeJS.ErrnoException, socket: Duplex): void {
  const { status, headers, body } = withRequestId(parserRefusal(cause));
  const lines = Object.entries({
    ...headers,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
}

function parserRefusal(cause: NodeJS.ErrnoException): ResourceMapError {
  switch (cause.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ResourceMapError(
        'headers_too_large',
        `The request line and headers have more than ${MAX_HEADER_BYTES} bytes, which is the most that is taken.`,
        { limit: MAX_HEADER_BYTES },
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ResourceMapError(
        'request_timeout',
        `The headers did not arrive within ${HEADERS_TIMEOUT_MS / 1_000} s, or the whole request within ${REQUEST_TIMEOUT_MS / 1_000} s.`,
      );
    default:
      return new ResourceMapError('malformed_request', unreadable(cause));
  }
}

function unreadable(cause: unknown): string {
  return `The request is not valid HTTP: ${cause instanceof Error ? cause.message.replace(/\.$/, '') : String(cause)}.`;
}

function withRequestId(error: ResourceMapError): ReturnType<typeof problemOf> {
  const requestId = randomUUID();
  const problem = problemOf(error, undefined, requestId);
  return { ...problem, headers: { ...problem.headers, 'x-request-id': requestId } };
}
