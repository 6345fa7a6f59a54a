/** Lambda entry: registrations and tokens. The one function that may write who is trusted. */
import { createApp } from '../../http/app.ts';
import { deployedAccess } from '../../http/deployed-auth.ts';
import { lambdaHandler } from '../../http/lambda.ts';
import { registrationsFromEnvironment } from '../../runtime/settings.ts';
import { emfTelemetry } from '../../runtime/telemetry-emf.ts';
import { dynamoClient } from '../../storage/client.ts';
import { RegistrationStore } from '../../storage/registrations.ts';
import { accessRoutes } from './routes.ts';

const telemetry = emfTelemetry('access');
const dynamo = dynamoClient(process.env.DYNAMODB_ENDPOINT);
const access = deployedAccess(process.env, dynamo, telemetry);
const app = createApp(telemetry, access);
accessRoutes(app, {
  trust: new RegistrationStore(dynamo, registrationsFromEnvironment(process.env).table),
  telemetry,
  now: Date.now,
  loopbackIssuers: false,
  changed: () => access.authenticator.forget(),
});

export const handler = lambdaHandler(app);
