import { defineConfig } from 'vitest/config';

process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

/** The page in Debian's Chromium. One file at a time: a browser beside another makes both slow. */
export default defineConfig({
  test: {
    include: ['test/page/**/*.page.ts'],
    globalSetup: ['test/page/global-setup.ts'],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
