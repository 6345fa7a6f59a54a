/** The DynamoDB client, made once a process, and the store on top of it. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { BodyStore } from './bodies.ts';
import type { Store } from './commit.ts';
import { HeadStore } from './heads.ts';
import type { Tables } from './tables.ts';

/**
 * Tries beyond the SDK's usual three, since a push that fails for a throttled second is a
 * cluster that looks silent.
 */
const MAX_ATTEMPTS = 5;

/**
 * @param endpoint of an engine that is not AWS; such an engine takes any credentials
 */
export function dynamoClient(endpoint?: string): DynamoDBClient {
  return new DynamoDBClient({
    maxAttempts: MAX_ATTEMPTS,
    ...(endpoint === undefined
      ? {}
      : {
          endpoint,
          region: process.env.AWS_REGION ?? 'us-east-1',
          credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
        }),
  });
}

export function storeOn(client: DynamoDBClient, tables: Tables): Store {
  return { heads: new HeadStore(client, tables), bodies: new BodyStore(client, tables) };
}
