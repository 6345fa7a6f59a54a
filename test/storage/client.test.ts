import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { dynamoClient, storeOn } from '../../functions/storage/client.ts';
import { StoreUnavailableError } from '../../functions/storage/errors.ts';

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
