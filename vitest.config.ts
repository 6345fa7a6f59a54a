import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { javaIsMissing } from './test/engines/java.ts';

// The SDK tells every process on Node 20 that its future versions want a newer one.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

/** Pure code, whose tests need no engine to be started first. */
const PURE = ['test/core/**/*.test.ts', 'test/agent/mapping/**/*.test.ts'];

/** What starts processes of its own, or is about many seconds of time: `npm run test:e2e`. */
const E2E = [
  'test/bundles-page.test.ts',
  'test/cli/{access,agent,bundle,capacity,claims,rmap,tls,token-file}.test.ts',
  'test/client/{package,replica-service}.test.ts',
  'test/conformance/races.test.ts',
  'test/fuzz/targets/service.test.ts',
  'test/http/bombs.test.ts',
  'test/infra/{bundling,restore}.test.ts',
  'test/lambdas/expire/{crash,race}.test.ts',
  'test/lambdas/map/browser.test.ts',
  'test/local/{restart,stream-reader}.test.ts',
  'test/openapi/{conformance,proto-json-schema}.test.ts',
  'test/readme.test.ts',
];

const isOfEngines = (path: string): boolean => /each\(engines|engines\.find/.test(readFileSync(path, 'utf8'));

/**
 * What is tested on every engine. `npm test` runs it on dynalite, `npm run test:engines` on DynamoDB Local, so
 * without Java there is nothing to run.
 */
const missing = javaIsMissing();
const OF_ENGINES =
  missing === undefined
    ? readdirSync('test', { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.test.ts'))
        .map((name) => `test/${name}`)
        .filter(isOfEngines)
    : [];
if (missing !== undefined && process.argv.includes('engines')) {
  console.log(`DynamoDB Local: skipped (${missing}); .ci/run installs Java and runs it.`);
}

/** Files share what they import: loading it again, the SDK above all, took as long as many a test. */
const SHARED = { isolate: false, setupFiles: ['test/seed.ts'] };

const ON_A_STORE = { ...SHARED, testTimeout: 20_000, hookTimeout: 60_000 };

export default defineConfig({
  test: {
    // Vitest leaves one processor to itself, half of a machine that has two.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // What subprocesses and Lambda bundles run is not counted, so the floor is that of the pure core.
    coverage: {
      provider: 'v8',
      include: ['functions/core/**/*.ts'],
      reporter: ['text-summary', 'html'],
      thresholds: { statements: 96, branches: 88, functions: 95, lines: 97 },
    },
    passWithNoTests: true,
    projects: [
      {
        test: { name: 'pure', include: PURE, ...SHARED, testTimeout: 20_000 },
      },
      {
        test: {
          name: 'service',
          include: ['test/**/*.test.ts'],
          exclude: [...PURE, ...E2E],
          globalSetup: ['test/engines/dynalite.setup.ts'],
          ...ON_A_STORE,
        },
      },
      {
        test: {
          name: 'engines',
          include: OF_ENGINES,
          exclude: E2E,
          globalSetup: ['test/engines/dynamodb-local.setup.ts'],
          ...ON_A_STORE,
        },
      },
      {
        test: {
          name: 'e2e',
          include: E2E,
          globalSetup: ['test/engines/global-setup.ts'],
          ...ON_A_STORE,
        },
      },
    ],
  },
});
