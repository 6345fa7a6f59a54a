/** The EventBridge client, made once a process. */
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';

/** Tries of one call; the publisher and the stream try again after that. */
const MAX_ATTEMPTS = 2;

/** A call takes milliseconds; one that hangs must end well within the function's timeout. */
const CONNECT_TIMEOUT_MS = 1_000;
const REQUEST_TIMEOUT_MS = 3_000;

/** @param endpoint of a bus that is not AWS; it takes any credentials */
export function eventBridgeClient(endpoint?: string): EventBridgeClient {
  return new EventBridgeClient({
    maxAttempts: MAX_ATTEMPTS,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
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
}
