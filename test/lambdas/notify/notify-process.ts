/** Follows a table's stream and tells of changes until it is killed; where it was is in a file. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import { announcer } from '../../../functions/lambdas/notify/announce.ts';
import { eventBridgeClient } from '../../../functions/lambdas/notify/client.ts';
import { EventPublisher } from '../../../functions/lambdas/notify/publisher.ts';
import { startStreamReader } from '../../../functions/local/stream-reader.ts';
import { localClient } from '../../engines/dynamodb-local.ts';
import { READY } from '../../engines/mortal-process.ts';
import { RecordedTelemetry } from './recorded-telemetry.ts';

export interface NotifyArgument {
  readonly endpoint: string;
  readonly table: string;
  readonly busEndpoint: string;
  readonly positionsFile: string;
}

const { endpoint, table, busEndpoint, positionsFile } = JSON.parse(process.argv[2] ?? '') as NotifyArgument;

/** As Lambda keeps them: after a batch, and never half of one. */
class FilePositions extends Map<string, string> {
  override set(shard: string, position: string): this {
    super.set(shard, position);
    writeFileSync(`${positionsFile}.new`, JSON.stringify([...this]));
    renameSync(`${positionsFile}.new`, positionsFile);
    return this;
  }
}

function readPositions(): readonly (readonly [string, string])[] {
  try {
    return JSON.parse(readFileSync(positionsFile, 'utf8')) as [string, string][];
  } catch {
    return [];
  }
}

const positions = new FilePositions();
for (const [shard, position] of readPositions()) positions.set(shard, position);

const telemetry = new RecordedTelemetry();
startStreamReader({
  dynamo: localClient(endpoint),
  streams: new DynamoDBStreamsClient({
    endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  }),
  table,
  telemetry,
  positions,
  handler: announcer({
    publisher: new EventPublisher(eventBridgeClient(busEndpoint), 'default'),
    telemetry,
    announceRefreshes: true,
    contents: { read: async () => new Map() },
    now: Date.now,
  }),
});
process.stdout.write(`${READY}\n`);
