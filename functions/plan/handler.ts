/** Lambda entry: what is left in the map, and what fits there. */
import { createApp } from '../http/app.ts';
import { lambdaHandler } from '../http/lambda.ts';
import { MAX_LAMBDA_ANSWER_BYTES } from '../http/limits.ts';
import { tablesFromEnvironment } from '../settings.ts';
import { dynamoClient, storeOn } from '../store/client.ts';
import { emfTelemetry } from '../telemetry-emf.ts';
import { capacityRoutes } from './routes-capacity.ts';

const telemetry = emfTelemetry('plan');
const app = createApp(telemetry);
capacityRoutes(app, {
  store: storeOn(dynamoClient(process.env.DYNAMODB_ENDPOINT), tablesFromEnvironment(process.env)),
  telemetry,
  now: Date.now,
  maxAnswerBytes: MAX_LAMBDA_ANSWER_BYTES,
});

export const handler = lambdaHandler(app);
