/** The DynamoDB client, made once a process, and the store on top of it. */
import { DynamoDBClient, DynamoDBServiceException } from '@aws-sdk/client-dynamodb';
import { remainingMs } from '../runtime/deadline.ts';
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

/** Milliseconds after which one attempt is given up and the next one made. */
export interface DynamoTimeouts {
  readonly connectMs: number;
  readonly requestMs: number;
}

/**
 * The SDK has no timeouts of its own, so that a silent socket would take the whole time of a
 * function. A call takes some 10 ms; four of these attempts fit within a request's deadline.
 */
const TIMEOUTS: DynamoTimeouts = { connectMs: 1_000, requestMs: 4_000 };

/**
 * What its commands throw when DynamoDB is away, silent or throttling, or when the deadline of the
 * request is over for which they are sent, is StoreUnavailableError. A command that is attempted
 * again may have been carried out before: writers have to take their own earlier write for a success.
 *
 * @param endpoint of an engine that is not AWS; such an engine takes any credentials
 */
export function dynamoClient(endpoint?: string, timeouts = TIMEOUTS): DynamoDBClient {
  const client = new DynamoDBClient({
    maxAttempts: MAX_ATTEMPTS,
    requestHandler: {
      connectionTimeout: timeouts.connectMs,
      requestTimeout: timeouts.requestMs,
      throwOnRequestTimeout: true,
    },
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
        if (error instanceof StoreUnavailableError || !isUnavailability(error)) throw error;
        throw new StoreUnavailableError(error);
      }
    },
    // Outside of the SDK's own retries, so that only what they could not fix arrives here.
    { step: 'initialize', name: 'storeUnavailable' },
  );
  client.middlewareStack.add(
    (next) => (args) => beforeDeadline(() => next(args)),
    // Within the SDK's retries, which end with an error that is none of AWS's.
    { step: 'finalizeRequest', name: 'requestDeadline', priority: 'low' },
  );
  return client;
}

/** Sends unless the deadline is over, and waits no longer than it allows; what was sent ends by its own timeout. */
async function beforeDeadline<T>(send: () => Promise<T>): Promise<T> {
  const leftMs = remainingMs();
  if (leftMs === Number.POSITIVE_INFINITY) return send();
  const overdue = new StoreUnavailableError(new Error('The deadline of the request is over.'));
  if (leftMs === 0) throw overdue;
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(overdue), leftMs);
  });
  try {
    return await Promise.race([send(), end]);
  } finally {
    clearTimeout(timer);
  }
}

const THROTTLED: ReadonlySet<string> = new Set([
  'ThrottlingException',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
]);

/** Whether trying later can help: throttling, a fault of the service, or no response at all. */
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
