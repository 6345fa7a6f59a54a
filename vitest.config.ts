import { defineConfig } from 'vitest/config';

// The SDK tells every process on Node 20 that its future versions want a newer one.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

/** Pure code, whose tests need no engine to be started first. */
const PURE = ['snapshot', 'globalmap', 'capacity', 'bundle'].map((folder) => `test/${folder}/**/*.test.ts`);

export default defineConfig({
  test: {
    projects: [
      {
        test: { name: 'pure', include: PURE, testTimeout: 20_000 },
      },
      {
        test: {
          name: 'service',
          include: ['test/**/*.test.ts'],
          exclude: PURE,
          globalSetup: ['test/engines/global-setup.ts'],
          testTimeout: 20_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
