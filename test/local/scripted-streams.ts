/**
 * A DynamoDB Streams endpoint that plays a script: shards that close and split, iterators that
 * expire, records that were trimmed. No engine that runs here does these within a test's time.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ScriptedShard {
  readonly id: string;
  readonly parent?: string;
  /** Sequence numbers of its records. */
  records: readonly number[];
  closed?: boolean;
  /** Records below it were trimmed. */
  trimmedBelow?: number;
}

export interface ScriptedStreams {
  readonly endpoint: string;
  shards: readonly ScriptedShard[];
  /** Errors that the next calls of an operation are answered with. */
  readonly errors: { readonly operation: string; readonly type: string }[];
  /** As DynamoDB Local at times: an open shard without a next iterator. */
  forgetsIterators: boolean;
  readonly operations: readonly string[];
  close(): Promise<void>;
}

interface Call {
  readonly StreamArn?: string;
  readonly ShardId?: string;
  readonly ShardIterator?: string;
  readonly SequenceNumber?: string;
  readonly ExclusiveStartShardId?: string;
}

export async function startScriptedStreams(): Promise<ScriptedStreams> {
  const operations: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const call = JSON.parse(Buffer.concat(chunks).toString()) as Call;
    const operation = String(request.headers['x-amz-target']).split('.')[1] ?? '';
    operations.push(operation);
    const [status, answer] = play(operation, call);
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' }).end(JSON.stringify(answer));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');

  const fault = (type: string): [number, object] => [
    400,
    { __type: `com.amazonaws.dynamodb.v20120810#${type}`, message: type },
  ];
  const play = (operation: string, call: Call): [number, object] => {
    const planned = self.errors.findIndex((e) => e.operation === operation);
    if (planned >= 0) return fault(self.errors.splice(planned, 1)[0]?.type ?? '');
    switch (operation) {
      case 'DescribeTable':
        return [200, { Table: { LatestStreamArn: 'arn:stream' } }];
      case 'DescribeStream': {
        // One shard a page, so that paging is tried.
        const ids = self.shards.map((shard) => shard.id);
        const index =
          call.ExclusiveStartShardId === undefined ? 0 : ids.indexOf(call.ExclusiveStartShardId) + 1;
        const shard = self.shards[index];
        const Shards = shard === undefined ? [] : [description(shard)];
        const more = index + 1 < self.shards.length;
        return [
          200,
          { StreamDescription: { Shards, ...(more ? { LastEvaluatedShardId: ids[index] } : {}) } },
        ];
      }
      case 'GetShardIterator':
        return [200, { ShardIterator: `${call.ShardId}|${call.SequenceNumber ?? ''}` }];
      default: {
        const [id = '', after = ''] = String(call.ShardIterator).split('|');
        const shard = self.shards.find((s) => s.id === id);
        if (shard === undefined) return fault('ResourceNotFoundException');
        if (after !== '' && shard.trimmedBelow !== undefined && Number(after) < shard.trimmedBelow) {
          return fault('TrimmedDataAccessException');
        }
        const from = Math.max(after === '' ? 0 : Number(after) + 1, shard.trimmedBelow ?? 0);
        const records = shard.records.filter((n) => n >= from).slice(0, 2);
        const last = records.at(-1) ?? (after === '' ? undefined : Number(after));
        const ended = shard.closed === true && (last === undefined || last >= (shard.records.at(-1) ?? 0));
        const next = ended || self.forgetsIterators ? {} : { NextShardIterator: `${id}|${last ?? ''}` };
        return [200, { Records: records.map(record), ...next }];
      }
    }
  };

  const self: ScriptedStreams = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    shards: [],
    errors: [],
    forgetsIterators: false,
    operations,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return self;
}

function description(shard: ScriptedShard): object {
  return {
    ShardId: shard.id,
    ...(shard.parent === undefined ? {} : { ParentShardId: shard.parent }),
    SequenceNumberRange: {
      StartingSequenceNumber: String(shard.records[0] ?? 0),
      ...(shard.closed ? { EndingSequenceNumber: String(shard.records.at(-1) ?? 0) } : {}),
    },
  };
}

function record(n: number): object {
  return {
    eventID: `event-${n}`,
    eventName: 'MODIFY',
    dynamodb: { SequenceNumber: String(n), ApproximateCreationDateTime: 1_767_225_600 },
  };
}
