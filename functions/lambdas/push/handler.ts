/** Lambda entry: pushes and omissions. */
import { createApp } from '../../http/app.ts';
import { connectRoutes } from '../../http/connect/routes.ts';
import { rpcErrors } from '../../http/connect/rpc-errors.ts';
import { deployedAccess } from '../../http/deployed-auth.ts';
import { lambdaHandler } from '../../http/lambda.ts';
import {
  maxFutureSkewFromEnvironment,
  omitAfterFromEnvironment,
  tablesFromEnvironment,
} from '../../runtime/settings.ts';
import { emfTelemetry } from '../../runtime/telemetry-emf.ts';
import { dynamoClient, storeOn } from '../../storage/client.ts';
import { pushRoutes } from './routes.ts';

const telemetry = emfTelemetry('push');
const dynamo = dynamoClient(process.env.DYNAMODB_ENDPOINT);
const app = createApp(telemetry, deployedAccess(process.env, dynamo, telemetry), undefined, rpcErrors());
pushRoutes(app, {
  store: storeOn(dynamo, tablesFromEnvironment(process.env)),
  telemetry,
  now: Date.now,
  maxFutureSkewMs: maxFutureSkewFromEnvironment(process.env),
  omitAfterMs: omitAfterFromEnvironment(process.env),
});

connectRoutes(app);

export const handler = lambdaHandler(app);
