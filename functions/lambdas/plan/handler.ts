/** Lambda entry: what is left in the map, what fits there, and where bundles would land. */
import { createApp } from '../../http/app.ts';
import { connectRoutes } from '../../http/connect/routes.ts';
import { rpcErrors } from '../../http/connect/rpc-errors.ts';
import { deployedAccess } from '../../http/deployed-auth.ts';
import { lambdaHandler } from '../../http/lambda.ts';
import { MAX_LAMBDA_RESPONSE_BYTES } from '../../http/limits.ts';
import { ChangeSignal } from '../../http/wait.ts';
import {
  claimsFromEnvironment,
  poolsTableFromEnvironment,
  tablesFromEnvironment,
} from '../../runtime/settings.ts';
import { emfTelemetry } from '../../runtime/telemetry-emf.ts';
import { dynamoClient, storeOn } from '../../storage/client.ts';
import { LedgerStore } from '../../storage/ledgers.ts';
import { PoolStore } from '../../storage/pools.ts';
import { catalogueFromEnvironment } from './catalogue-setting.ts';
import { bundleRoutes } from './routes-bundle.ts';
import { capacityRoutes } from './routes-capacity.ts';
import { claimRoutes } from './routes-claims.ts';
import { poolRoutes } from './routes-pools.ts';

const telemetry = emfTelemetry('plan');
const dynamo = dynamoClient(process.env.DYNAMODB_ENDPOINT);
const app = createApp(telemetry, deployedAccess(process.env, dynamo, telemetry), undefined, rpcErrors());
const store = storeOn(dynamo, tablesFromEnvironment(process.env));
const pools = new PoolStore(dynamo, poolsTableFromEnvironment(process.env));
const responses = { store, telemetry, maxResponseBytes: MAX_LAMBDA_RESPONSE_BYTES };
const { table, settings } = claimsFromEnvironment(process.env);
const ledgers = new LedgerStore(dynamo, table);
capacityRoutes(app, { ...responses, now: Date.now, claims: { ledgers, settings } });
claimRoutes(app, { ...responses, now: Date.now, ledgers, settings, changes: new ChangeSignal() });
bundleRoutes(app, {
  ...responses,
  pools,
  catalogue: catalogueFromEnvironment(process.env),
  claims: { ledgers, settings, now: Date.now },
});
poolRoutes(app, { pools, telemetry, maxResponseBytes: MAX_LAMBDA_RESPONSE_BYTES });

connectRoutes(app);

export const handler = lambdaHandler(app);
