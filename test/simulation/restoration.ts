/**
 * The table of heads is lost and restored to an earlier time, as docs/deploy.md has it: the stage is
 * paused, the heads are restored with the lost table's stream or with a floor, and the stage is resumed.
 * The operator's command may die anywhere and is then run again.
 */
import type { DynamoDBStreamsClient, GetRecordsCommandInput } from '@aws-sdk/client-dynamodb-streams';
import { HEAD_ATTRIBUTES } from '../../functions/storage/head-item.ts';
import { restoreHeads, type Since } from '../../infra/restore/restore-heads.ts';
import type { Command, DynamoDbModel } from './dynamodb-model.ts';
import type { Entry } from './history.ts';
import { RESTORED_HEADS, type Service, TABLES } from './service.ts';
import type { Item } from './values.ts';
import type { Process, World } from './world.ts';

/** No request to the database is on its way for longer. */
const SETTLES_MS = 10_000;
const STREAM_ARN = 'arn:aws:dynamodb:eu-central-1:111122223333:table/Heads/stream/lost';
const SHARDS = ['0', '1'];

interface Deps {
  readonly world: World;
  readonly model: DynamoDbModel;
  readonly service: Service;
  readonly history: Entry[];
}

/** Plans one restoration, `atMs` from now at the latest. Done once the service is resumed. */
export function planRestoration(deps: Deps, atMs: number): void {
  const { world, model, service } = deps;
  const { random01, nature } = world;
  // To before anything was pushed, now and then: then nothing is known of any cluster.
  const pointMs = random01.chance(0.25) ? 0 : random01.next() * atMs;
  let point: { readonly items: readonly Item[]; readonly wallMs: number };
  world.schedule(pointMs, nature, () => {
    point = { items: model.items(TABLES.heads), wallMs: world.wallMs() };
  });
  world.schedule(atMs, nature, () => service.pause());
  world.schedule(atMs + SETTLES_MS, nature, () => {
    model.replace(RESTORED_HEADS, point.items);
    // The table itself may be there still, damaged or not.
    const remains = random01.chance(0.2);
    if (!remains) model.replace(TABLES.heads, []);
    const since: Since = random01.chance(0.6)
      ? { kind: 'stream', streamArn: STREAM_ARN, restoredToMs: point.wallMs }
      : { kind: 'floor', floor: highestMark(model) + BigInt(random01.integer(0, 5)) };
    world.note(
      `The heads are restored to ${((point.wallMs - world.wallMs()) / 1_000).toFixed(1)} s, by ${since.kind}`,
    );
    if (since.kind === 'floor') deps.history.push({ kind: 'floor set', counter: since.floor });
    run(deps, since, 1);
  });
}

function run(deps: Deps, since: Since, attempt: number): void {
  const { world, model, service } = deps;
  const operator: Process = { name: `restore-heads ${attempt}`, alive: true, skewMs: 0 };
  const again = (): void => {
    world.note(`${operator.name} ended; it is run again`);
    run(deps, since, attempt + 1);
  };
  world.schedule(0, operator, () => {
    restoreHeads({
      dynamo: service.client(),
      streams: streamsOf(model),
      from: RESTORED_HEADS,
      into: TABLES.heads,
      shards: TABLES.shards,
      since,
      pauseMs: 1,
    }).then(() => service.resume(), again);
  });
  if (attempt === 1 && world.random01.chance(0.4))
    world.schedule(world.random01.integer(0, 2_000), world.nature, () => {
      if (!service.paused) return;
      operator.alive = false;
      again();
    });
}

/** Over all that the stream has: no cluster has reached more. */
function highestMark(model: DynamoDbModel): bigint {
  const items = [...model.items(TABLES.heads), ...model.items(RESTORED_HEADS)];
  for (const { before, after } of model.records) items.push(...[before ?? [], after ?? []].flat());
  return items.reduce((highest, item) => {
    const mark = BigInt(item[HEAD_ATTRIBUTES.highWater]?.N ?? 0);
    return mark > highest ? mark : highest;
  }, 1n);
}

/** The stream of the table that was lost, which outlives it by a day. Empty pages come before the end. */
function streamsOf(model: DynamoDbModel): DynamoDBStreamsClient {
  const send = async (command: Command): Promise<object> => {
    switch (command.constructor.name) {
      case 'DescribeStreamCommand':
        return { StreamDescription: { Shards: SHARDS.map((ShardId) => ({ ShardId })) } };
      case 'GetShardIteratorCommand':
        return { ShardIterator: `${(command.input as { ShardId: string }).ShardId} 0` };
      case 'GetRecordsCommand': {
        const { ShardIterator = '' } = command.input as GetRecordsCommandInput;
        const [shard, from] = ShardIterator.split(' ').map(Number);
        const all = model.records.filter(({ sequence }) => Number(sequence % 2n) === shard);
        const page = all.slice(from, Number(from) + 50);
        return {
          Records: page.map(({ before, after }) => ({ dynamodb: { OldImage: before, NewImage: after } })),
          NextShardIterator: `${shard} ${Number(from) + page.length}`,
        };
      }
      default:
        throw new Error(`The stream does not know ${command.constructor.name}.`);
    }
  };
  return { send } as unknown as DynamoDBStreamsClient;
}
