import { defineConfig } from 'vitest/config';

process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

/** The packages as they are published, in projects of their own: two minutes, `npm run test:packages`. */
export default defineConfig({
  test: {
    include: ['test/**/*.packages.ts'],
    globalSetup: ['test/packages/global-setup.ts'],
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 240_000,
  },
});
