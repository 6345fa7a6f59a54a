/** Lambda entry: the sweeper of claims, called by a schedule. */
import { ClaimReader } from '../../reading/claim-reader.ts';
import { claimsFromEnvironment, tablesFromEnvironment } from '../../runtime/settings.ts';
import { emfTelemetry } from '../../runtime/telemetry-emf.ts';
import { dynamoClient, storeOn } from '../../storage/client.ts';
import { LedgerStore } from '../../storage/ledgers.ts';
import { type ClaimSweepReport, sweepClaims } from './sweep-claims.ts';

const telemetry = emfTelemetry('sweep');
const dynamo = dynamoClient(process.env.DYNAMODB_ENDPOINT);
const store = storeOn(dynamo, tablesFromEnvironment(process.env));
const { table, settings } = claimsFromEnvironment(process.env);
const ledgers = new LedgerStore(dynamo, table);
// Of all requests: what is derived of a content is kept.
const reader = new ClaimReader(store, ledgers, telemetry, settings);

/** @throws Error if a part was not swept, so that the invocation counts as failed */
export async function handler(): Promise<ClaimSweepReport> {
  const report = await sweepClaims(
    { ledgers, reader, heads: store.heads, shards: table.shards, telemetry },
    Date.now,
  );
  const { failedShards, failedClusters } = report;
  if (failedShards.length === 0 && failedClusters.length === 0) return report;
  throw new Error(
    `${failedShards.length} shards and ${failedClusters.length} ledgers of claims were not swept; the log has the causes.`,
  );
}
