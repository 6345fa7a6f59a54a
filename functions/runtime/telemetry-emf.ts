/**
 * Telemetry of a Lambda function: JSON log lines, and metrics as lines in CloudWatch's embedded
 * metric format, which it reads out of the log without a call.
 */
import { LogFormatter, Logger, LogItem } from '@aws-lambda-powertools/logger';
import type { LogAttributes, UnformattedAttributes } from '@aws-lambda-powertools/logger/types';
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { type GaugeUnit, type LogFields, lineFields, type Telemetry } from './telemetry.ts';

/** Where dashboards and alarms find the metrics, where the deployment names no place of its own. */
const DEFAULT_NAMESPACE = 'ResourceMap';

const UNITS = {
  Count: MetricUnit.Count,
  Seconds: MetricUnit.Seconds,
  Milliseconds: MetricUnit.Milliseconds,
  Bytes: MetricUnit.Bytes,
} as const satisfies Readonly<Record<GaugeUnit, string>>;

/** The fields that the local service's lines have, and the trace, so that one query reads both. */
class LineFormatter extends LogFormatter {
  override formatAttributes(attributes: UnformattedAttributes, fields: LogAttributes): LogItem {
    const { logLevel, message, serviceName, timestamp, xRayTraceId } = attributes;
    return new LogItem({
      attributes: {
        level: logLevel.toLowerCase(),
        message,
        service: serviceName,
        timestamp: timestamp.toISOString(),
        ...(xRayTraceId === undefined ? {} : { xrayTraceId: xRayTraceId }),
        ...fields,
      },
    });
  }
}

/** @param service the function's name, a dimension of every metric */
export function emfTelemetry(service: string): Telemetry {
  // Each stage of one account has a namespace of its own, or their numbers would add up.
  const namespace = process.env.METRICS_NAMESPACE ?? DEFAULT_NAMESPACE;
  const metrics = new Metrics({ namespace, serviceName: service });
  const logger = new Logger({ serviceName: service, logFormatter: new LineFormatter() });
  return {
    warn: (message, fields) => logger.warn(message, { ...lineFields(fields) }),
    error: (message, fields) => logger.error(message, { ...lineFields(fields) }),
    ...(process.env.ACCESS_LOG === 'true'
      ? { access: (fields: LogFields) => logger.info('request', { ...lineFields(fields) }) }
      : {}),
    // One line a metric: two with different dimensions cannot share one, and a line that is
    // written at once is not lost with an invocation that ends badly.
    count(metric, value, dimensions = {}) {
      metrics.singleMetric().addDimensions(dimensions).addMetric(metric, MetricUnit.Count, value);
    },
    gauge(metric, value, unit, dimensions = {}) {
      metrics.singleMetric().addDimensions(dimensions).addMetric(metric, UNITS[unit], value);
    },
  };
}
