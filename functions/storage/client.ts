/** The DynamoDB client, made once a process, and the store on top of it. */
import { DynamoDBClient, DynamoDBServiceException } from '@aws-sdk/client-dynamodb';
import type { Store } from './commit.ts';
import { ContentStore } from './contents.ts';
import { StoreUnavailableError } from './errors.ts';
import { HeadStore } from './heads.ts';
import type { Tables } from './tables.ts';

/**
 * Tries beyond the SDK's usual three, since a push that fails for a throttled second is a
 * cluster that looks silent.
 */
const MAX_ATTEMPTS = 5;

/**
 * What its commands throw when DynamoDB is away or throttles is StoreUnavailableError.
 *
 * @param endpoint of an engine that is not AWS; such an engine takes any credentials
 */
export function dynamoClient(endpoint?: string): DynamoDBClient {
  const client = new DynamoDBClient({
    maxAttempts: MAX_ATTEMPTS,
    ...(endpoint === undefined
      ? {}
      : {
          endpoint,
          region: process.env.AWS_REGION ?? 'us-east-1',
          credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
        }),
  });
  client.middlewareStack.add(
    (next) => async (args) => {
      try {
        return await next(args);
      } catch (error) {
        throw isUnavailability(error) ? new StoreUnavailableError(error) : error;
      }
    },
    // Outside of the SDK's own retries, so that only what they could not mend arrives here.
    { step: 'initialize', name: 'storeUnavailable' },
  );
  return client;
}

const THROTTLED: ReadonlySet<string> = new Set([
  'ThrottlingException',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
]);

/** Whether trying later can help: throttling, a fault of the service, or no answer at all. */
function isUnavailability(error: unknown): boolean {
  if (error instanceof DynamoDBServiceException)
    return error.$fault === 'server' || THROTTLED.has(error.name);
  if (!(error instanceof Error)) return false;
  // What is not from the service comes from the connection: a refused or broken one has a system
  // error's code, one that took too long the SDK's own name.
  return 'code' in error || error.name === 'TimeoutError';
}

export function storeOn(client: DynamoDBClient, tables: Tables): Store {
  return { heads: new HeadStore(client, tables), contents: new ContentStore(client, tables) };
}
