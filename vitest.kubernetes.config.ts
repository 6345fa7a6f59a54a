import { defineConfig } from 'vitest/config';

/** The agent against a real control plane, which takes minutes: `npm run test:kubernetes`. */
export default defineConfig({
  test: {
    include: ['test/**/*.kubernetes.ts'],
    testTimeout: 120_000,
    hookTimeout: 180_000,
    fileParallelism: false,
    // Each step starts where the one before it ended.
    bail: 1,
  },
});
