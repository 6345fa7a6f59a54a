import { defineConfig } from 'vitest/config';

process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

/** Metrics, rules and dashboard with promtool and a real Prometheus. */
export default defineConfig({
  test: { include: ['test/monitoring/*.prometheus.ts'], testTimeout: 60_000, hookTimeout: 60_000 },
});
