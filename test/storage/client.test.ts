import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { withDeadline } from '../../functions/runtime/deadline.ts';
import { dynamoClient, storeOn } from '../../functions/storage/client.ts';
import { createTables } from '../../functions/storage/create-tables.ts';
import { StoreUnavailableError } from '../../functions/storage/errors.ts';
import { withoutRandomWaits } from '../no-jitter.ts';

withoutRandomWaits();

const TABLES = { heads: 'heads', contents: 'bodies', shards: 1 };

describe('A store whose DynamoDB', () => {
  it('refuses connections is unavailable, and the cause is kept for the log', async () => {
    const client = dynamoClient('http://127.0.0.1:1');
    const error = await storeOn(client, TABLES)
      .heads.read('a')
      .catch((thrown: unknown) => thrown);
    client.destroy();
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect((error as StoreUnavailableError).cause).toMatchObject({ code: 'ECONNREFUSED' });
  });

  it.each([
    ['throttles', 400, 'ThrottlingException'],
    ['fails inside', 500, 'InternalServerError'],
  ])('%s is unavailable once the tries are used up', async (_what, status, type) => {
    let requests = 0;
    const server = createServer((_request, response) => {
      requests++;
      response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' });
      response.end(JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${type}`, message: 'later' }));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const client = dynamoClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const error = await storeOn(client, TABLES)
      .heads.read('a')
      .catch((thrown: unknown) => thrown);
    client.destroy();
    server.close();
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect((error as StoreUnavailableError).details.retryAfterSeconds).toBe(2);
    expect(requests).toBe(5);
  });
});

/** Takes requests and never responds. */
async function silentServer(): Promise<{ url: string; requests: () => number; server: Server }> {
  let requests = 0;
  const server = createServer(() => {
    requests++;
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, requests: () => requests, server };
}

describe('A DynamoDB that takes a request and stays silent', () => {
  const quick = { connectMs: 200, requestMs: 50 };

  it.each([
    ['a read', (client: ReturnType<typeof dynamoClient>) => storeOn(client, TABLES).heads.read('a')],
    ['the start, which creates tables', (client) => createTables(client, TABLES)],
  ])('ends %s after five attempts, each cut off by its own timeout', async (_what, use) => {
    const { url, requests, server } = await silentServer();
    const client = dynamoClient(url, quick);
    const error = await use(client).catch((thrown: unknown) => thrown);
    client.destroy();
    server.closeAllConnections();
    server.close();
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect((error as StoreUnavailableError).cause).toMatchObject({ name: 'TimeoutError' });
    expect(requests()).toBe(5);
  });

  it('is given up at the deadline of the request, whatever attempts are left', async () => {
    const { url, requests, server } = await silentServer();
    const client = dynamoClient(url, { connectMs: 60_000, requestMs: 60_000 });
    const startedAtMs = performance.now();
    const error = await withDeadline(150, () => storeOn(client, TABLES).heads.read('a')).catch(
      (thrown: unknown) => thrown,
    );
    const late = await withDeadline(0, () => storeOn(client, TABLES).heads.read('a')).catch(
      (thrown: unknown) => thrown,
    );
    client.destroy();
    server.closeAllConnections();
    server.close();
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect((error as StoreUnavailableError).cause).toEqual(new Error('The deadline of the request is over.'));
    expect(late).toBeInstanceOf(StoreUnavailableError);
    expect(performance.now() - startedAtMs).toBeLessThan(20_000);
    expect(requests()).toBe(1);
  });
});
