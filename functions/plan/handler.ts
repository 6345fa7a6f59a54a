/** Lambda entry: what is left in the map, and what fits there. */
import { createApp } from '../http/app.ts';
import { deployedAccess } from '../http/auth/deployed-access.ts';
import { lambdaHandler } from '../http/lambda.ts';
import { MAX_LAMBDA_ANSWER_BYTES } from '../http/limits.ts';
import { tablesFromEnvironment } from '../settings.ts';
import { dynamoClient, storeOn } from '../store/client.ts';
import { emfTelemetry } from '../telemetry-emf.ts';
import { capacityRoutes } from './routes-capacity.ts';

const telemetry = emfTelemetry('plan');
const dynamo = dynamoClient(process.env.DYNAMODB_ENDPOINT);
const app = createApp(telemetry, deployedAccess(process.env, dynamo, telemetry));
capacityRoutes(app, {
  store: storeOn(dynamo, tablesFromEnvironment(process.env)),
  telemetry,
  now: Date.now,
  maxAnswerBytes: MAX_LAMBDA_ANSWER_BYTES,
});

export const handler = lambdaHandler(app);
