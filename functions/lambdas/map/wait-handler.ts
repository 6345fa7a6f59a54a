/**
 * Lambda entry: the map for who waits for it to change. A function of its own, since each
 * response that is held takes an execution for as long as it is held: in a function apart,
 * and bounded by `waitConcurrency`, waiting readers leave room for pushes.
 */
import { createApp } from '../../http/app.ts';
import { deployedAccess } from '../../http/deployed-auth.ts';
import { lambdaHandler } from '../../http/lambda.ts';
import { MAX_LAMBDA_RESPONSE_BYTES } from '../../http/limits.ts';
import { cacheBytesOf, longestWaitFromEnvironment, tablesFromEnvironment } from '../../runtime/settings.ts';
import { emfTelemetry } from '../../runtime/telemetry-emf.ts';
import { dynamoClient, storeOn } from '../../storage/client.ts';
import { mapRoutes } from './routes.ts';

const telemetry = emfTelemetry('wait');
const dynamo = dynamoClient(process.env.DYNAMODB_ENDPOINT);
const app = createApp(telemetry, deployedAccess(process.env, dynamo, telemetry));
mapRoutes(app, {
  store: storeOn(dynamo, tablesFromEnvironment(process.env)),
  telemetry,
  now: Date.now,
  cacheBytes: cacheBytesOf(process.env),
  maxResponseBytes: MAX_LAMBDA_RESPONSE_BYTES,
  serves: 'waits',
  longestWaitSeconds: longestWaitFromEnvironment(process.env),
});

export const handler = lambdaHandler(app);
