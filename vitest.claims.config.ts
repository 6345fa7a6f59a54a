import { defineConfig } from 'vitest/config';

/** The protocol of claims, explored whole on a small model: some minutes, `npm run test:claims`. */
export default defineConfig({
  test: {
    include: ['test/**/*.claims.ts'],
    testTimeout: 300_000,
  },
});
