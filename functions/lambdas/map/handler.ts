/** Lambda entry: the map and what is known of each cluster. */
import { createApp } from '../../http/app.ts';
import { connectRoutes } from '../../http/connect/routes.ts';
import { rpcErrors } from '../../http/connect/rpc-errors.ts';
import { deployedAccess } from '../../http/deployed-auth.ts';
import { lambdaHandler } from '../../http/lambda.ts';
import { MAX_LAMBDA_RESPONSE_BYTES } from '../../http/limits.ts';
import { cacheBytesOf, tablesFromEnvironment } from '../../runtime/settings.ts';
import { emfTelemetry } from '../../runtime/telemetry-emf.ts';
import { dynamoClient, storeOn } from '../../storage/client.ts';
import { mapRoutes } from './routes.ts';

const telemetry = emfTelemetry('map');
const dynamo = dynamoClient(process.env.DYNAMODB_ENDPOINT);
const app = createApp(telemetry, deployedAccess(process.env, dynamo, telemetry), undefined, rpcErrors());
mapRoutes(app, {
  store: storeOn(dynamo, tablesFromEnvironment(process.env)),
  telemetry,
  now: Date.now,
  cacheBytes: cacheBytesOf(process.env),
  maxResponseBytes: MAX_LAMBDA_RESPONSE_BYTES,
  serves: 'plain',
});

connectRoutes(app);

export const handler = lambdaHandler(app);
