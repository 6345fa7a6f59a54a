/** Counts what DynamoDB says that each command consumed. */
import type { ConsumedCapacity, DynamoDBClient } from '@aws-sdk/client-dynamodb';

export interface Consumed {
  /** Capacity units by command name, as `PutItem heads`. */
  readonly units: Readonly<Record<string, number>>;
  /** Requests by the same name. */
  readonly requests: Readonly<Record<string, number>>;
}

/**
 * Has every command of the client ask for its consumed capacity.
 *
 * @param labels what to call the tables
 * @returns gives what was consumed since it was last called
 */
export function countCapacity(
  client: DynamoDBClient,
  labels: Readonly<Record<string, string>>,
): () => Consumed {
  let units = new Map<string, number>();
  let requests = new Map<string, number>();
  client.middlewareStack.add(
    (next, context) => async (args) => {
      Object.assign(args.input, { ReturnConsumedCapacity: 'TOTAL' });
      const result = await next(args);
      const { ConsumedCapacity: consumed } = result.output as {
        ConsumedCapacity?: ConsumedCapacity | readonly ConsumedCapacity[];
      };
      for (const { TableName = '', CapacityUnits } of [consumed ?? []].flat()) {
        const command = String(context.commandName).replace(/Command$/, '');
        const name = `${command} ${labels[TableName] ?? TableName}`;
        if (CapacityUnits === undefined) throw new Error(`${name} did not say what it consumed.`);
        units.set(name, (units.get(name) ?? 0) + CapacityUnits);
        requests.set(name, (requests.get(name) ?? 0) + 1);
      }
      return result;
    },
    { step: 'initialize' },
  );
  return () => {
    const taken = { units: Object.fromEntries(units), requests: Object.fromEntries(requests) };
    [units, requests] = [new Map(), new Map()];
    return taken;
  };
}
