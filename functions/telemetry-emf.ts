/**
 * Telemetry of a Lambda function: log lines on standard error, and metrics as lines in
 * CloudWatch's embedded metric format, which it reads out of the log without a call.
 */
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { type GaugeUnit, jsonLinesTelemetry, type Telemetry } from './telemetry.ts';

/** Where dashboards and alarms find the metrics, where the deployment names no place of its own. */
const DEFAULT_NAMESPACE = 'ResourceMap';

const UNITS = {
  Count: MetricUnit.Count,
  Seconds: MetricUnit.Seconds,
  Milliseconds: MetricUnit.Milliseconds,
} as const satisfies Readonly<Record<GaugeUnit, string>>;

/** @param service the function's name, a dimension of every metric */
export function emfTelemetry(service: string): Telemetry {
  // Each stage of one account has a namespace of its own, or their numbers would add up.
  const namespace = process.env.METRICS_NAMESPACE ?? DEFAULT_NAMESPACE;
  const metrics = new Metrics({ namespace, serviceName: service });
  const { warn, error } = jsonLinesTelemetry();
  // One line a metric: two with different dimensions cannot share one, and a line that is
  // written at once is not lost with an invocation that ends badly.
  return {
    warn,
    error,
    count(metric, value, dimensions = {}) {
      metrics.singleMetric().addDimensions(dimensions).addMetric(metric, MetricUnit.Count, value);
    },
    gauge(metric, value, unit) {
      metrics.singleMetric().addMetric(metric, UNITS[unit], value);
    },
  };
}
