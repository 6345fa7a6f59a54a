/** The EventBridge client, made once a process. */
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';

/** Tries of one call; the publisher and the stream try again after that. */
const MAX_ATTEMPTS = 2;

/** A call takes milliseconds; one that hangs must end well within the function's timeout. */
const TIMEOUTS = { connectMs: 1_000, requestMs: 3_000 };

/** @param endpoint of a bus that is not AWS; it takes any credentials */
export function eventBridgeClient(endpoint?: string, timeouts = TIMEOUTS): EventBridgeClient {
  return new EventBridgeClient({
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
}
