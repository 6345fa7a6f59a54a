/** `/healthz`, `/readyz` and `/metrics` of an agent. */
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Health {
  /** Nothing while it is ready, else why it is not. */
  notReady(): string | undefined;
  metrics(): string;
}

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

export async function serveHealth(health: Health, host: string, port: number): Promise<HealthServer> {
  const server = http.createServer((request, response) => {
    const path = (request.url ?? '/').split('?')[0];
    const send = (status: number, body: string) => {
      response.writeHead(status, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
      response.end(request.method === 'HEAD' ? undefined : body);
    };
    if (request.method !== 'GET' && request.method !== 'HEAD') send(405, 'GET or HEAD\n');
    else if (path === '/healthz') send(200, 'ok\n');
    else if (path === '/readyz') {
      const why = health.notReady();
      send(why === undefined ? 200 : 503, why === undefined ? 'ok\n' : `${why}\n`);
    } else if (path === '/metrics') send(200, health.metrics());
    else send(404, '/healthz, /readyz, /metrics\n');
  });
  server.headersTimeout = 10_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
