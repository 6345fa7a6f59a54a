import { defineConfig } from 'vitest/config';

// The SDK tells every process on Node 20 that its future versions want a newer one.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

/** Races of real processes, which take minutes: `npm run test:races`. */
export default defineConfig({
  test: {
    include: ['test/**/*.races.ts'],
    globalSetup: ['test/engines/global-setup.ts'],
    testTimeout: 300_000,
    // They are about time, so each has the machine to itself.
    fileParallelism: false,
  },
});
