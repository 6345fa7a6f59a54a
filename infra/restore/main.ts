/**
 * The command that restores ClusterHeads; docs/deploy.md says when and how.
 *
 *     npm run restore-heads -- --help
 */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import { Command, InvalidArgumentError, Option } from 'commander';
import { restoreHeads, type Since, UnsafeRestoreError } from './restore-heads.ts';

interface Flags {
  readonly from: string;
  readonly into: string;
  readonly shards: number;
  readonly stream?: string;
  readonly restoredTo?: number;
  readonly floor?: bigint;
  readonly complete?: true;
  readonly dryRun?: true;
  readonly endpoint?: string;
}

const command = new Command('restore-heads')
  .description('Restores the table of cluster heads so that no counter goes back. Pause the stage first.')
  .requiredOption('--from <table>', 'the table that DynamoDB restored')
  .requiredOption('--into <table>', "the stage's own table: its output HeadsTable")
  .requiredOption('--shards <number>', 'the shards of the stage', shardsOf)
  .option('--stream <arn>', 'the stream of the table that lost the data')
  .option('--restored-to <time>', 'the point in time that was restored, as in 2026-03-14T07:00:00Z', timeOf)
  .option('--floor <counter>', 'a counter that no cluster had reached, where there is no stream', counterOf)
  .option('--complete', 'nothing was written since: the table is that of a stage that is paused or gone')
  .option('--dry-run', 'say what would be done, and do nothing')
  .addOption(new Option('--endpoint <url>', 'a DynamoDB other than AWS').hideHelp())
  .action(async (flags: Flags) => {
    const client = flags.endpoint === undefined ? {} : { endpoint: flags.endpoint };
    const report = await restoreHeads({
      dynamo: new DynamoDBClient(client),
      streams: new DynamoDBStreamsClient(client),
      from: flags.from,
      into: flags.into,
      shards: flags.shards,
      since: sinceOf(flags),
      dryRun: flags.dryRun === true,
    });
    console.log(JSON.stringify({ ...report, floor: String(report.floor) }, undefined, 2));
    if (report.lost.length === 0) return;
    console.error(
      `${report.lost.length} clusters have an item that cannot be read and no mark in any source. ` +
        'What they push is refused; repeat with --floor, or fix their items.',
    );
    process.exitCode = 1;
  });

try {
  await command.parseAsync();
} catch (error) {
  if (!(error instanceof UnsafeRestoreError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

function sinceOf({ stream, restoredTo, floor, complete }: Flags): Since {
  const byStream = stream !== undefined || restoredTo !== undefined;
  const ways = [byStream, floor !== undefined, complete === true].filter((given) => given);
  if (ways.length === 1) {
    if (complete === true) return { kind: 'nothing' };
    if (floor !== undefined) return { kind: 'floor', floor };
    if (stream !== undefined && restoredTo !== undefined) {
      return { kind: 'stream', streamArn: stream, restoredToMs: restoredTo };
    }
  }
  return command.error('error: give --stream and --restored-to, or --floor, or --complete');
}

function shardsOf(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be an integer from 1 to 9999.');
}

function timeOf(text: string): number {
  const ms = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  if (!Number.isNaN(ms)) return ms;
  throw new InvalidArgumentError('It must be a time with its zone, as in 2026-03-14T07:00:00Z.');
}

function counterOf(text: string): bigint {
  const counter = /^\d{1,20}$/.test(text) ? BigInt(text) : 0n;
  if (counter >= 1n && counter < 2n ** 64n - 2n) return counter;
  throw new InvalidArgumentError('It must be an integer from 1 to 2^64 − 3.');
}
