/**
 * Requests to an API server. Over node:https and not over fetch, which takes neither the
 * certificate authority of a cluster nor a client's certificate without a dispatcher of its own.
 */
import http from 'node:http';
import https from 'node:https';
import { at, member, text } from '../mapping/json.ts';
import { KubeApiError, KubeConnectionError } from './errors.ts';
import type { KubeTarget } from './target.ts';

export interface KubeRequest {
  readonly method?: 'GET' | 'PUT' | 'POST';
  readonly accept?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Without a byte for this long the connection is taken for dead. */
  readonly idleMs?: number;
}

export interface KubeConnection {
  /** The response of a request, its body to be read. @throws KubeApiError, KubeConnectionError, KubeconfigError */
  open(path: string, request?: KubeRequest): Promise<http.IncomingMessage>;
  /** The whole JSON of a response. */
  json(path: string, request?: KubeRequest): Promise<unknown>;
  close(): void;
}

/** A list of five hundred pods takes a loaded API server seconds. */
const DEFAULT_IDLE_MS = 30_000;
/** Messages of the server that are shown. */
const MAX_ERROR_BYTES = 10_000;
/** How long until a connection without traffic is probed. */
const KEEP_ALIVE_MS = 15_000;

export function connect(target: KubeTarget): KubeConnection {
  const secure = target.server.protocol === 'https:';
  const agent = secure
    ? new https.Agent({ keepAlive: true, keepAliveMsecs: KEEP_ALIVE_MS })
    : new http.Agent({ keepAlive: true, keepAliveMsecs: KEEP_ALIVE_MS });

  const open = async (path: string, request: KubeRequest = {}): Promise<http.IncomingMessage> => {
    const response = await exchange(path, request);
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return response;
    if (status === 401) target.refused();
    throw await errorOf(response, request.method ?? 'GET', path, status);
  };

  const exchange = async (
    path: string,
    { method = 'GET', accept = 'application/json', body, signal, idleMs = DEFAULT_IDLE_MS }: KubeRequest,
  ) => {
    const { authorization, cert, key } = await target.credentials();
    signal?.throwIfAborted();
    const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const options: https.RequestOptions = {
      agent,
      method,
      headers: {
        accept,
        'user-agent': 'resource-map-agent',
        ...(authorization === undefined ? {} : { authorization }),
        ...(payload === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': payload.length }),
      },
      ...(signal === undefined ? {} : { signal }),
      ...(secure
        ? {
            ...(target.ca === undefined ? {} : { ca: target.ca }),
            ...(cert === undefined ? {} : { cert }),
            ...(key === undefined ? {} : { key }),
            ...(target.serverName === undefined ? {} : { servername: target.serverName }),
            rejectUnauthorized: !target.insecure,
          }
        : {}),
    };
    return new Promise<http.IncomingMessage>((resolve, reject) => {
      const url = new URL(target.server.pathname.replace(/\/$/, '') + path, target.server);
      const sent = (secure ? https : http).request(url, options, resolve);
      sent.setTimeout(idleMs, () => sent.destroy(new Error(`nothing was heard for ${idleMs / 1_000} s`)));
      sent.on('error', (cause) =>
        reject(signal?.aborted === true ? signal.reason : new KubeConnectionError(method, path, cause)),
      );
      sent.end(payload);
    });
  };

  return {
    open,
    async json(path, request) {
      const response = await open(path, request);
      const bytes = await readAll(response, request?.method ?? 'GET', path);
      try {
        return JSON.parse(bytes.toString('utf8'));
      } catch (cause) {
        throw new KubeConnectionError(request?.method ?? 'GET', path, cause);
      }
    },
    close() {
      agent.destroy();
    },
  };
}

async function readAll(response: http.IncomingMessage, method: string, path: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch (cause) {
    throw new KubeConnectionError(method, path, cause);
  }
  return Buffer.concat(chunks);
}

async function errorOf(
  response: http.IncomingMessage,
  method: string,
  path: string,
  status: number,
): Promise<KubeApiError> {
  let message = response.statusMessage ?? '';
  try {
    const body = (await readAll(response, method, path)).subarray(0, MAX_ERROR_BYTES).toString('utf8');
    const parsed: unknown = JSON.parse(body);
    message = text(member(parsed, 'message')) ?? text(at(parsed, 'reason')) ?? message;
  } catch {
    // A proxy's page: the status has to do.
  }
  return new KubeApiError(method, path, status, message);
}
