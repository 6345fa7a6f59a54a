import { defineConfig } from 'vitest/config';

// The SDK tells every process on Node 20 that its future versions want a newer one.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/engines/global-setup.ts'],
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
});
