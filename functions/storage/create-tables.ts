/** Creates the tables where no infrastructure code does: the local service and the tests. */
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  type DynamoDBClient,
  ResourceInUseException,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { type Tables, tableDefinitions } from './tables.ts';

/** Seconds; local engines take milliseconds. */
const MAX_WAIT_S = 30;

/** Creates the tables that do not exist, and waits until all can be used. */
export async function createTables(client: DynamoDBClient, tables: Tables): Promise<void> {
  for (const definition of tableDefinitions(tables)) await createTable(client, definition);
}

/** Creates a table if it does not exist, and waits until it can be used. */
export async function createTable(
  client: DynamoDBClient,
  definition: CreateTableCommandInput,
): Promise<void> {
  try {
    await client.send(new CreateTableCommand(definition));
  } catch (error) {
    if (!(error instanceof ResourceInUseException)) throw error;
  }
  await waitUntilTableExists(
    { client, maxWaitTime: MAX_WAIT_S, minDelay: 0.05, maxDelay: 1 },
    { TableName: definition.TableName },
  );
}
