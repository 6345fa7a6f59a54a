/**
 * The stream of the heads, its consumer, and the bus. The consumer is killed, its calls to the bus
 * are lost and repeated, and it starts again from its last checkpoint, as an event source mapping does.
 */
import type { EventBridgeClient, PutEventsCommandInput } from '@aws-sdk/client-eventbridge';
import type { DynamoDBRecord } from 'aws-lambda';
import { ClusterChangeKind } from '../../functions/gen/resourcemap/v1/events_pb.ts';
import { announcer } from '../../functions/lambdas/notify/announce.ts';
import { headMoveOf } from '../../functions/lambdas/notify/head-move.ts';
import { EventPublisher } from '../../functions/lambdas/notify/publisher.ts';
import { changesOf } from '../../functions/lambdas/notify/span.ts';
import { imageOf } from '../../functions/local/change-feed.ts';
import type { Command, DynamoDbModel, StreamRecord } from './dynamodb-model.ts';
import type { Faults } from './faults.ts';
import type { Process, World } from './world.ts';

interface BusEvent {
  readonly detailType: string;
  readonly detail: {
    readonly clusterId: string;
    readonly logicalCounter: string;
    readonly sequenceNumber: string;
    readonly changes: readonly string[];
  };
}

const MAX_BATCH = 10;
const QUIET = {
  warn: () => undefined,
  error: () => undefined,
  count: () => undefined,
  gauge: () => undefined,
};

export class EventPath {
  readonly events: BusEvent[] = [];
  /** Every call to the bus fails. */
  busAway = false;
  #consumer: Process;
  /** The first record of each partition's shard that is not done. */
  readonly #checkpoints = new Map<number, number>();
  #consumers = 0;

  constructor(
    private readonly world: World,
    private readonly model: DynamoDbModel,
    private readonly faults: Faults,
  ) {
    this.#consumer = this.#start();
  }

  kill(): void {
    this.#consumer.alive = false;
    this.world.note(`${this.#consumer.name} is killed`);
    this.#consumer = this.#start();
  }

  /** Whether every record was consumed. */
  get idle(): boolean {
    return [0, 1].every((shard) => (this.#checkpoints.get(shard) ?? 0) >= this.#records(shard).length);
  }

  /** What was announced that did not happen, and what happened that was not announced. */
  wrongs(): string[] {
    const happened = this.model.records.map((record) => ({ record, move: headMoveOf(streamRecord(record)) }));
    const announced = new Map<string, Set<string>>();
    for (const { detail } of this.events) {
      const known = announced.get(detail.clusterId) ?? new Set();
      known.add(detail.sequenceNumber);
      announced.set(detail.clusterId, known);
    }
    const faults: string[] = [];
    for (const { detail, detailType } of this.events) {
      const real = happened.find(
        ({ record, move }) =>
          move?.clusterId === detail.clusterId && String(record.sequence) === detail.sequenceNumber,
      );
      const counter = real?.move?.after?.highWater ?? real?.move?.before?.highWater;
      if (counter === undefined || String(counter) !== detail.logicalCounter)
        faults.push(`${detailType} of ${detail.clusterId} at ${detail.logicalCounter} never happened.`);
    }
    // A change is announced by an event of its cluster whose last record is this or a later one.
    for (const { record, move } of happened) {
      if (move === undefined) continue;
      const kinds = changesOf(move).filter((kind) => kind !== ClusterChangeKind.REFRESHED);
      const last = [...(announced.get(move.clusterId) ?? [])].reduce(
        (max, sequence) => (BigInt(sequence) > max ? BigInt(sequence) : max),
        0n,
      );
      if (kinds.length > 0 && last < record.sequence)
        faults.push(
          `${kinds.map((kind) => ClusterChangeKind[kind])} of ${move.clusterId} was never announced.`,
        );
    }
    return faults;
  }

  #records(shard: number): StreamRecord[] {
    return this.model.records.filter(({ partition }) => shardOfPartition(partition) === shard);
  }

  #start(): Process {
    const process: Process = { name: `consumer ${++this.#consumers}`, alive: true, skewMs: 0 };
    const handler = announcer({
      publisher: new EventPublisher(this.#bus(), 'bus'),
      telemetry: QUIET,
      announceRefreshes: false,
      contents: { read: async () => new Map() },
      now: Date.now,
    });
    for (const shard of [0, 1]) {
      const poll = (): void => {
        this.world.schedule(100 + this.world.random01.next() * 400, process, () => {
          void this.#consume(shard, handler).then(poll);
        });
      };
      poll();
    }
    return process;
  }

  async #consume(shard: number, handler: ReturnType<typeof announcer>): Promise<void> {
    const from = this.#checkpoints.get(shard) ?? 0;
    const batch = this.#records(shard).slice(from, from + this.world.random01.integer(1, MAX_BATCH));
    if (batch.length === 0) return;
    const { batchItemFailures } = await handler({ Records: batch.map(streamRecord) });
    const failed = batchItemFailures.map(({ itemIdentifier }) =>
      batch.findIndex(({ sequence }) => String(sequence) === itemIdentifier),
    );
    // Now and then the checkpoint is lost, and the batch comes again.
    if (this.faults.on && this.world.random01.chance(0.05)) return;
    this.#checkpoints.set(shard, from + (failed.length === 0 ? batch.length : Math.min(...failed)));
  }

  #bus(): EventBridgeClient {
    const send = (command: Command): Promise<object> =>
      new Promise((resolve, reject) => {
        const owner = this.world.current;
        const fate = this.faults.request();
        const fail = (): void => {
          this.world.schedule(1_000, owner, () => reject(new Error('The bus does not respond.')));
        };
        if (this.busAway || fate === 'request lost' || fate === 'throttled') return fail();
        this.world.schedule(this.faults.latencyMs(), this.world.nature, () => {
          this.faults.operations++;
          const { Entries = [] } = command.input as PutEventsCommandInput;
          const results = Entries.map(({ DetailType = '', Detail = '{}' }) => {
            if (this.faults.on && this.world.random01.chance(0.02))
              return { ErrorCode: 'ThrottlingException' };
            this.events.push({ detailType: DetailType, detail: JSON.parse(Detail) as BusEvent['detail'] });
            return { EventId: String(this.events.length) };
          });
          if (fate === 'response lost') return fail();
          this.world.schedule(this.faults.latencyMs(), owner, () => resolve({ Entries: results }));
        });
      });
    return { send } as unknown as EventBridgeClient;
  }
}

/** Two shards; all of one partition key are in one, in order. */
function shardOfPartition(partition: string): number {
  return partition.charCodeAt(partition.length - 1) % 2;
}

function streamRecord({ keys, before, after, sequence }: StreamRecord): DynamoDBRecord {
  return {
    eventID: String(sequence),
    eventName: before === undefined ? 'INSERT' : after === undefined ? 'REMOVE' : 'MODIFY',
    dynamodb: {
      Keys: imageOf(keys),
      ...(before === undefined ? {} : { OldImage: imageOf(before) }),
      ...(after === undefined ? {} : { NewImage: imageOf(after) }),
      SequenceNumber: String(sequence),
    },
  };
}
