/**
 * What Lambda's event source mapping does for a function: hands it records in their order and
 * in batches, and again from the first that it gave back, until they are through.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DynamoDBRecord } from 'aws-lambda';
import type { StreamHandler } from '../lambdas/notify/announce.ts';
import type { Telemetry } from '../runtime/telemetry.ts';

/** As many as the deployed function gets at once. */
export const BATCH_RECORDS = 100;

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 5_000;

export interface EventSourceDeps {
  readonly handler: StreamHandler;
  readonly telemetry: Telemetry;
  readonly signal: AbortSignal;
}

/**
 * Hands all records over.
 *
 * @param passed is told each record that the handler is done with, the last one of a batch alone
 * @returns false where the signal ended it before
 */
export async function deliverRecords(
  { handler, telemetry, signal }: EventSourceDeps,
  records: readonly DynamoDBRecord[],
  passed: (last: DynamoDBRecord) => void = () => undefined,
): Promise<boolean> {
  let rest = records;
  let pauseMs = FIRST_PAUSE_MS;
  while (rest.length > 0) {
    if (signal.aborted) return false;
    const batch = rest.slice(0, BATCH_RECORDS);
    const done = await countPassed(handler, batch, telemetry);
    const last = batch[done - 1];
    if (last !== undefined) passed(last);
    rest = rest.slice(done);
    if (done === batch.length) {
      pauseMs = FIRST_PAUSE_MS;
      continue;
    }
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
  }
  return true;
}

/** How many records from the front the handler is done with. */
async function countPassed(
  handler: StreamHandler,
  batch: readonly DynamoDBRecord[],
  telemetry: Telemetry,
): Promise<number> {
  try {
    const { batchItemFailures } = await handler({ Records: [...batch] });
    const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
    if (failed.size === 0) return batch.length;
    const first = batch.findIndex((record) => failed.has(record.dynamodb?.SequenceNumber ?? ''));
    // An identifier that is none of the batch's fails it all, as it does in Lambda.
    return Math.max(0, first);
  } catch (error) {
    telemetry.error('batch failed, trying again', { records: batch.length, cause: error });
    return 0;
  }
}
