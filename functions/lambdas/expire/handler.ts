/** Lambda entry: the sweeper, called by a schedule. */
import { membershipFromEnvironment, tablesFromEnvironment } from '../../runtime/settings.ts';
import { emfTelemetry } from '../../runtime/telemetry-emf.ts';
import { dynamoClient } from '../../storage/client.ts';
import { HeadStore } from '../../storage/heads.ts';
import { type SweepReport, sweep } from './sweep.ts';

const telemetry = emfTelemetry('expire');
const tables = tablesFromEnvironment(process.env);
const membership = membershipFromEnvironment(process.env);
const fleetMetrics = process.env.FLEET_METRICS === 'true';
const heads = new HeadStore(dynamoClient(process.env.DYNAMODB_ENDPOINT), tables);

/** @throws Error where a part was not swept, so that the invocation counts as failed and is repeated */
export async function handler(): Promise<SweepReport> {
  const report = await sweep(
    { heads, shards: tables.shards, telemetry, fleetMetrics },
    membership,
    Date.now(),
  );
  const { failedShards, failedClusters } = report;
  if (failedShards.length === 0 && failedClusters.length === 0) return report;
  throw new Error(
    `${failedShards.length} shards and ${failedClusters.length} clusters were not swept; the log has the causes.`,
  );
}
