import { defineConfig } from 'vitest/config';

/** Stored bundles in a simulated world, some hundred seeds: two minutes, `npm run test:bundles`. */
export default defineConfig({
  test: {
    include: ['test/**/*.bundles.ts'],
    testTimeout: 600_000,
  },
});
