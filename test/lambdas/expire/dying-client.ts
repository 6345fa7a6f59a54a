/** A client whose process dies at one of its writes: nothing after it leaves the process. */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { localClient } from '../../engines/dynamodb-local.ts';

export class ProcessDied extends Error {
  override readonly name = 'ProcessDied';
}

const WRITES = new Set(['PutItemCommand', 'DeleteItemCommand']);

/**
 * @param atWrite the number of the write, from 0, at which it dies
 * @param when whether the engine carries that write out
 */
export function dyingClient(endpoint: string, atWrite: number, when: 'before' | 'after'): DynamoDBClient {
  const client = localClient(endpoint);
  let writes = 0;
  let dead = false;
  client.middlewareStack.add(
    (next, context) => async (args) => {
      if (dead) throw new ProcessDied();
      if (!WRITES.has(context.commandName ?? '') || writes++ !== atWrite) return next(args);
      dead = true;
      if (when === 'after') await next(args);
      throw new ProcessDied();
    },
    { step: 'initialize', name: 'dies' },
  );
  return client;
}
