/** Stores of a test's own on the engines that run. */
import { randomUUID } from 'node:crypto';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { inject } from 'vitest';
import { storeOn } from '../../functions/storage/client.ts';
import type { Store } from '../../functions/storage/commit.ts';
import { createTables } from '../../functions/storage/create-tables.ts';
import type { Tables } from '../../functions/storage/tables.ts';
import { localClient } from './dynamodb-local.ts';
import type { EngineEndpoint } from './global-setup.ts';

/** For `describe.each`: every engine that runs. */
export const engines: readonly EngineEndpoint[] = inject('engines');

export interface TestStore extends Store {
  readonly client: DynamoDBClient;
  readonly tables: Tables;
  readonly endpoint: string;
}

/** A store on tables that nobody else uses. */
export async function freshStore(engine: EngineEndpoint, shards = 4): Promise<TestStore> {
  const suffix = randomUUID();
  const tables: Tables = { heads: `heads-${suffix}`, contents: `bodies-${suffix}`, shards };
  const client = localClient(engine.endpoint);
  await createTables(client, tables);
  return { ...storeOn(client, tables), client, tables, endpoint: engine.endpoint };
}
