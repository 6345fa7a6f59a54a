/**
 * Stands for the API Gateway of the template: takes requests over HTTP, finds the route as API
 * Gateway does, hands the function its event, and sends the client what it answers.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { clientResponse, httpEvent } from '../http-event.ts';

export interface HttpFront {
  readonly url: string;
  close(): Promise<void>;
}

/** What answers the requests of a route, by route key. */
export type Integrations = ReadonlyMap<string, (event: unknown) => Promise<unknown>>;

export async function startHttpFront(integrations: Integrations): Promise<HttpFront> {
  const server = createServer((request, response) => void answer(request, response, integrations));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  integrations: Integrations,
): Promise<void> {
  const { method = 'GET', url: target = '/' } = request;
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    const event = httpEvent({ method, target, headers, ...(body.length === 0 ? {} : { body }) });
    const integration = integrations.get(routeOf(method, event.rawPath, [...integrations.keys()]));
    if (integration === undefined) throw new Error(`No route takes ${method} ${target}.`);
    const result = clientResponse((await integration(event)) as APIGatewayProxyStructuredResultV2);
    response.writeHead(result.status, result.headers).end(result.body);
  } catch (error) {
    // As API Gateway does where the function failed: the cause is in its log, and here in the test's.
    response.writeHead(500, {
      'content-type': 'application/json',
      'x-cause': encodeURIComponent(String(error)),
    });
    response.end('{"message":"Internal Server Error"}');
  }
}

/**
 * The most specific route: a full match, then one with a variable, then a greedy one, then the
 * default. Source: "Routing API requests", API Gateway Developer Guide.
 */
export function routeOf(method: string, path: string, routeKeys: readonly string[]): string {
  const request = `${method} ${path}`;
  const matching = routeKeys.filter((key) => patternOf(key).test(request));
  const of = (kind: (key: string) => boolean): string | undefined =>
    matching.filter(kind).sort((a, b) => b.length - a.length)[0];
  return (
    of((key) => !key.includes('{')) ??
    of((key) => !key.endsWith('+}')) ??
    of((key) => key.endsWith('+}')) ??
    '$default'
  );
}

/** `{id}` stands for one segment, `{id+}` for all that follow. */
function patternOf(routeKey: string): RegExp {
  const parts = routeKey.split(/(\{\w+\+?\})/);
  const source = parts.map((part) => {
    if (!part.startsWith('{')) return part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    return part.endsWith('+}') ? '.+' : '[^/]+';
  });
  return new RegExp(`^${source.join('')}$`, 's');
}
