/** Starts DynamoDB Local for `npm run test:engines`; without Java there are no tests, and nothing is started. */
import type { TestProject } from 'vitest/node';
import { startDynamoDbLocal } from './dynamodb-local.ts';
import { javaIsMissing } from './java.ts';

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (javaIsMissing() !== undefined) return undefined;
  const { endpoint, close } = await startDynamoDbLocal();
  project.provide('engines', [{ name: 'DynamoDB Local', endpoint }]);
  return close;
}
