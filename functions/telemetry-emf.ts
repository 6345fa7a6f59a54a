/**
 * Telemetry of a Lambda function: log lines on standard error, and metrics as lines in
 * CloudWatch's embedded metric format, which it reads out of the log without a call.
 */
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { type GaugeUnit, jsonLinesTelemetry, type Telemetry } from './telemetry.ts';

/** Where dashboards and alarms find the metrics. */
export const METRICS_NAMESPACE = 'ResourceMap';

const UNITS = {
  Count: MetricUnit.Count,
  Seconds: MetricUnit.Seconds,
  Milliseconds: MetricUnit.Milliseconds,
} as const satisfies Readonly<Record<GaugeUnit, string>>;

/** @param service the function's name, a dimension of every metric */
export function emfTelemetry(service: string): Telemetry {
  const metrics = new Metrics({ namespace: METRICS_NAMESPACE, serviceName: service });
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
