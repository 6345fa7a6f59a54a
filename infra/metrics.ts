/** Metrics that both alarms and dashboard look at. */
import type { Duration } from 'aws-cdk-lib';
import { type IMetric, Metric, type MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import type { Data } from './data.ts';
import type { FunctionName } from './functions.ts';

/** The namespace of what the functions of a stage report: each stage has its own. */
export function metricsNamespace(stage: string): string {
  return `ResourceMap/${stage}`;
}

/** A metric that a function writes into its log. */
export function ownMetric(
  stage: string,
  metricName: string,
  service: FunctionName,
  options: MetricOptions,
): Metric {
  return new Metric({
    namespace: metricsNamespace(stage),
    metricName,
    ...options,
    dimensionsMap: { service, ...options.dimensionsMap },
  });
}

/** Throttled reads and writes of each table, under names that a formula can use. */
export function tableThrottles(data: Data, period: Duration): readonly (readonly [string, IMetric])[] {
  return Object.entries(data.tables).flatMap(([name, table]) =>
    (['ReadThrottleEvents', 'WriteThrottleEvents'] as const).map(
      (metric) => [`${name}${metric}`, table.metric(metric, { period, statistic: 'Sum' })] as const,
    ),
  );
}
