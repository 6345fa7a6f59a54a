/** Lambda entry: what the service is, open to everybody, and so without a right to anything. */
import { createApp } from '../../http/app.ts';
import { lambdaHandler } from '../../http/lambda.ts';
import { pageFromEnvironment } from '../../runtime/settings.ts';
import { emfTelemetry } from '../../runtime/telemetry-emf.ts';
import { aboutRoutes } from './routes.ts';

// Open, since everything that it has is: the table of permissions says so of each route.
const app = createApp(emfTelemetry('about'), { kind: 'open' });
aboutRoutes(app, { auth: 'tokens', ...pageFromEnvironment(process.env) });

export const handler = lambdaHandler(app);
