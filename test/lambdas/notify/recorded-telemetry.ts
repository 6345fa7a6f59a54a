import type { GaugeUnit, LogFields, Telemetry } from '../../../functions/runtime/telemetry.ts';

/** Telemetry that a test reads. */
export class RecordedTelemetry implements Telemetry {
  readonly warnings: string[] = [];
  readonly errors: string[] = [];
  readonly fields: LogFields[] = [];
  readonly counts = new Map<string, number>();
  readonly gauges = new Map<string, readonly [number, GaugeUnit]>();

  warn(message: string, fields: LogFields): void {
    this.warnings.push(message);
    this.fields.push(fields);
  }

  error(message: string, fields: LogFields): void {
    this.errors.push(message);
    this.fields.push(fields);
  }

  count(metric: string, value: number): void {
    this.counts.set(metric, (this.counts.get(metric) ?? 0) + value);
  }

  /** By the metric, and the values of its dimensions behind it. */
  gauge(
    metric: string,
    value: number,
    unit: GaugeUnit,
    dimensions: Readonly<Record<string, string>> = {},
  ): void {
    this.gauges.set([metric, ...Object.values(dimensions)].join(' '), [value, unit]);
  }
}
