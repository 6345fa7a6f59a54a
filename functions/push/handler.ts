/** Lambda entry: pushes and omissions. */
import { createApp } from '../http/app.ts';
import { lambdaHandler } from '../http/lambda.ts';
import { tablesFromEnvironment } from '../settings.ts';
import { dynamoClient, storeOn } from '../store/client.ts';
import { emfTelemetry } from '../telemetry-emf.ts';
import { pushRoutes } from './routes.ts';

const telemetry = emfTelemetry('push');
const app = createApp(telemetry);
pushRoutes(app, {
  store: storeOn(dynamoClient(process.env.DYNAMODB_ENDPOINT), tablesFromEnvironment(process.env)),
  telemetry,
  now: Date.now,
});

export const handler = lambdaHandler(app);
