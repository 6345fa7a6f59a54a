import { defineConfig } from 'vitest/config';

/** The tests that take minutes: the synthesised stack, run. */
export default defineConfig({
  test: {
    include: ['test/**/*.deploy.ts'],
    testTimeout: 60_000,
    hookTimeout: 300_000,
    fileParallelism: false,
  },
});
