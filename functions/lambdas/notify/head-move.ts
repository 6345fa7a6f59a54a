/**
 * A record of the table's stream as what it says of a cluster: its head before and after one
 * write. Only live heads are of interest: a retired mark, and the head that it replaces, are
 * housekeeping that changed nothing for anybody.
 */
import type { DynamoDBRecord, AttributeValue as StreamValue } from 'aws-lambda';
import type { Head } from '../../storage/head.ts';
import { headFromItem, type Item } from '../../storage/head-item.ts';
import { HEADS_KEY, isHeadPartition } from '../../storage/tables.ts';

/** One write of one head. */
export interface HeadMove {
  readonly clusterId: string;
  /** Absent where there was none. */
  readonly before?: Head;
  /** Absent where it was deleted. */
  readonly after?: Head;
  readonly sequenceNumber: string;
  /** When it happened, milliseconds since the epoch by our clock. */
  readonly atMs: number;
}

/** A record that was not published as a change, and why. */
export class UndeliverableRecordError extends Error {
  override readonly name = 'UnpublishedRecordError';
  readonly clusterId: string;

  constructor(
    readonly record: DynamoDBRecord,
    reason: string,
    options?: ErrorOptions,
  ) {
    super(reason, options);
    this.clusterId = record.dynamodb?.Keys?.[HEADS_KEY.sort]?.S ?? '';
  }

  static from(record: DynamoDBRecord, thrown: unknown): UndeliverableRecordError {
    if (thrown instanceof UndeliverableRecordError) return thrown;
    return new UndeliverableRecordError(record, thrown instanceof Error ? thrown.message : String(thrown), {
      cause: thrown,
    });
  }
}

/**
 * @returns nothing for a record that is not about a live head
 * @throws UnpublishedRecordError
 */
export function headMoveOf(record: DynamoDBRecord): HeadMove | undefined {
  const { Keys, OldImage, NewImage, SequenceNumber, ApproximateCreationDateTime } = record.dynamodb ?? {};
  const partition = Keys?.[HEADS_KEY.partition]?.S;
  const clusterId = Keys?.[HEADS_KEY.sort]?.S;
  if (partition === undefined || clusterId === undefined || SequenceNumber === undefined) {
    throw new UndeliverableRecordError(
      record,
      'The record has no key of ClusterHeads or no sequence number.',
    );
  }
  if (!isHeadPartition(partition)) return undefined;
  if (OldImage === undefined && NewImage === undefined) {
    throw new UndeliverableRecordError(
      record,
      'The record has no image; the stream must be one of new and old images.',
    );
  }
  const before = OldImage && headOf(record, OldImage);
  const after = NewImage && headOf(record, NewImage);
  return {
    clusterId,
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after }),
    sequenceNumber: SequenceNumber,
    // DynamoDB rounds its own time down, to the minute on some engines.
    atMs:
      after === undefined
        ? (ApproximateCreationDateTime ?? 0) * 1_000
        : (after.omission?.atMs ?? after.receivedAtMs),
  };
}

function headOf(record: DynamoDBRecord, image: Record<string, StreamValue>): Head {
  try {
    return headFromItem(itemOf(image));
  } catch (error) {
    throw UndeliverableRecordError.from(record, error);
  }
}

/** An image as Lambda delivers it, binary in Base64, as an item; of the types that a head has. */
function itemOf(image: Record<string, StreamValue>): Item {
  const item: Item = {};
  for (const [name, value] of Object.entries(image)) {
    if (value.S !== undefined) item[name] = { S: value.S };
    else if (value.N !== undefined) item[name] = { N: value.N };
    else if (value.B !== undefined) item[name] = { B: Buffer.from(value.B, 'base64') };
  }
  return item;
}
