/**
 * Builds what is shipped, and starts the engines that the store is tested on, once for all
 * test files: dynalite always, and Amazon's DynamoDB Local if there is a Java to run it.
 * Tables are made by each test under names of its own.
 */
import { execFileSync } from 'node:child_process';
import type { TestProject } from 'vitest/node';
import { startDynalite } from '../../functions/local/dynalite.ts';
import { startDynamoDbLocal } from './dynamodb-local.ts';
import { javaIsMissing } from './java.ts';

/** An engine that runs. */
export interface EngineEndpoint {
  readonly name: 'dynalite' | 'DynamoDB Local';
  readonly endpoint: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    engines: readonly EngineEndpoint[];
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Tests start rmap and the service as they are shipped, so what is shipped must be today's.
  execFileSync('npm', ['run', '-s', 'build'], { stdio: 'inherit' });
  const dynalite = await startDynalite();
  const engines: EngineEndpoint[] = [{ name: 'dynalite', endpoint: dynalite.endpoint }];
  const closing: (() => Promise<void>)[] = [dynalite.close];
  const missing = javaIsMissing();
  if (missing === undefined) {
    const local = await startDynamoDbLocal();
    engines.push({ name: 'DynamoDB Local', endpoint: local.endpoint });
    closing.push(local.close);
  } else {
    console.log(`DynamoDB Local: skipped (${missing}); .ci/run installs Java and runs it.`);
  }
  project.provide('engines', engines);
  return async () => {
    await Promise.all(closing.map((close) => close()));
  };
}
