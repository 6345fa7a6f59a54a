/** Sweeps again and again until it is killed. */
import type { Membership } from '../../../functions/core/membership.ts';
import { sweep } from '../../../functions/lambdas/expire/sweep.ts';
import { HeadStore } from '../../../functions/storage/heads.ts';
import type { Tables } from '../../../functions/storage/tables.ts';
import { localClient } from '../../engines/dynamodb-local.ts';
import { READY } from '../../engines/mortal-process.ts';
import { RecordedTelemetry } from '../notify/recorded-telemetry.ts';

export interface SweeperArgument {
  readonly endpoint: string;
  readonly tables: Tables;
  readonly membership: Membership;
  /** False for the test of the test: heads are deleted, and their marks with them. */
  readonly keepsMarks: boolean;
}

class ForgetfulHeads extends HeadStore {
  override async putTombstone(): Promise<void> {}
}

const { endpoint, tables, membership, keepsMarks } = JSON.parse(process.argv[2] ?? '') as SweeperArgument;
const heads = new (keepsMarks ? HeadStore : ForgetfulHeads)(localClient(endpoint), tables);
process.stdout.write(`${READY}\n`);
for (;;) {
  const telemetry = new RecordedTelemetry();
  await sweep({ heads, shards: tables.shards, telemetry }, membership, Date.now());
  for (const [i, error] of telemetry.errors.entries()) {
    process.stderr.write(`${error}: ${JSON.stringify(telemetry.fields[i])}\n`);
  }
}
