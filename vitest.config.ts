import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

// The SDK tells every process on Node 20 that its future versions want a newer one.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

/** Pure code, whose tests need no engine to be started first. */
const PURE = ['test/core/**/*.test.ts', 'test/agent/mapping/**/*.test.ts'];

/** Files share what they import: loading it anew, the SDK above all, took as long as many a test. */
const SHARED = { isolate: false } as const;

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
    projects: [
      {
        test: { name: 'pure', include: PURE, ...SHARED, testTimeout: 20_000 },
      },
      {
        test: {
          name: 'service',
          include: ['test/**/*.test.ts'],
          exclude: PURE,
          ...SHARED,
          globalSetup: ['test/engines/global-setup.ts'],
          testTimeout: 20_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
