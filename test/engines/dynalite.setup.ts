/** Starts dynalite, on which `npm test` runs; DynamoDB Local is for `npm run test:engines`. */
import type { TestProject } from 'vitest/node';
import { startDynalite } from '../../functions/local/dynalite.ts';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { endpoint, close } = await startDynalite();
  project.provide('engines', [{ name: 'dynalite', endpoint }]);
  return close;
}
