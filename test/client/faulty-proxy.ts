/** A proxy on the way to the service that loses, breaks and refuses what it is told to. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * What becomes of one request: it passes; it is lost on the way there; it arrives and its response
 * is lost, breaks off in the middle, or comes too late for the proxy, which answers 504 by then; or
 * the proxy answers in the service's place.
 */
export type Fate =
  | 'pass'
  | 'lose-request'
  | 'lose-answer'
  | 'break-answer'
  | 'time-out'
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

export interface FaultyProxy {
  readonly url: string;
  /** Where requests go; can be moved when the service is restarted. */
  target: string;
  /** The fates of the next requests; those beyond pass. */
  readonly fates: Fate[];
  readonly seen: SeenRequest[];
  close(): Promise<void>;
}

/** Starts a proxy on a free port. */
export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  const proxy = { target, fates: [] as Fate[], seen: [] as SeenRequest[] };
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    proxy.seen.push({ method, url, headers });
    const fate = proxy.fates.shift() ?? 'pass';
    if (fate === 'lose-request') request.socket.destroy();
    else if (typeof fate === 'object') response.writeHead(fate.status, fate.headers).end(fate.body);
    else await forward(fate, response);

    async function forward(how: Exclude<Fate, object | 'lose-request'>, to: ServerResponse): Promise<void> {
      const { host: _host, connection: _connection, 'content-length': _length, ...rest } = headers;
      let answer: Response;
      let body: Buffer;
      try {
        answer = await fetch(proxy.target + url, {
          method,
          headers: { ...(rest as Record<string, string>), 'accept-encoding': 'identity' },
          ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
          redirect: 'manual',
        });
        body = Buffer.from(await answer.arrayBuffer());
      } catch {
        request.socket.destroy();
        return;
      }
      if (how === 'lose-answer') {
        request.socket.destroy();
        return;
      }
      if (how === 'time-out') {
        to.writeHead(504).end('<html>');
        return;
      }
      to.writeHead(answer.status, { ...Object.fromEntries(answer.headers), 'content-length': body.length });
      if (how === 'pass') to.end(body);
      else to.write(body.subarray(0, Math.max(1, body.length >> 1)), () => request.socket.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(proxy, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  });
}
