/**
 * Lambda entry: what is left in the map, what fits there, and bundles: where they would be placed, and those that are kept
 * placed. A schedule calls it each minute with {@link ROUND_EVENT}.
 */
import { createApp } from '../../http/app.ts';
import { connectRoutes } from '../../http/connect/routes.ts';
import { rpcErrors } from '../../http/connect/rpc-errors.ts';
import { deployedAccess } from '../../http/deployed-auth.ts';
import { lambdaHandler } from '../../http/lambda.ts';
import { MAX_LAMBDA_RESPONSE_BYTES } from '../../http/limits.ts';
import { ChangeSignal } from '../../http/wait.ts';
import {
  bundlesTableFromEnvironment,
  claimsFromEnvironment,
  poolsTableFromEnvironment,
  tablesFromEnvironment,
} from '../../runtime/settings.ts';
import { emfTelemetry } from '../../runtime/telemetry-emf.ts';
import { BundleStore } from '../../storage/bundles.ts';
import { dynamoClient, storeOn } from '../../storage/client.ts';
import { LedgerStore } from '../../storage/ledgers.ts';
import { PoolStore } from '../../storage/pools.ts';
import { BundleKeeper } from './bundle-keeper.ts';
import { catalogueFromEnvironment } from './catalogue-setting.ts';
import { isRoundEvent } from './round-event.ts';
import { bundleRoutes } from './routes-bundle.ts';
import { capacityRoutes } from './routes-capacity.ts';
import { claimRoutes } from './routes-claims.ts';
import { poolRoutes } from './routes-pools.ts';
import { storedBundleRoutes } from './routes-stored-bundles.ts';

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
const catalogue = catalogueFromEnvironment(process.env);
bundleRoutes(app, {
  ...responses,
  pools,
  catalogue,
  now: Date.now,
  claims: { ledgers, settings },
});
const bundles = new BundleStore(dynamo, bundlesTableFromEnvironment(process.env));
const keeper = new BundleKeeper({
  store,
  ledgers,
  pools,
  bundles,
  catalogue,
  telemetry,
  settings,
  now: Date.now,
});
storedBundleRoutes(app, { ...responses, bundles, keeper, now: Date.now, changes: new ChangeSignal() });
poolRoutes(app, { pools, telemetry, maxResponseBytes: MAX_LAMBDA_RESPONSE_BYTES });

connectRoutes(app);

const serve = lambdaHandler(app);

/** Milliseconds of a round: it ends before the function does, and the next one goes on. */
const ROUND_MS = 20_000;

export const handler: typeof serve = async (event, context) => {
  if (!isRoundEvent(event)) return serve(event, context);
  const report = await keeper.round(AbortSignal.timeout(ROUND_MS));
  if (report.left > 0) telemetry.warn('bundles left to the next round', { ...report });
  return report;
};
