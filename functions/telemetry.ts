/** What the service says of itself: log lines and metrics, whatever takes them. */

/** Fields of a log line. Bodies and tokens are never among them. */
export type LogFields = Readonly<Record<string, unknown>>;

export interface Telemetry {
  warn(message: string, fields: LogFields): void;
  error(message: string, fields: LogFields): void;
  /** Adds to a counter; dimensions have few values each. */
  count(metric: string, value: number, dimensions?: Readonly<Record<string, string>>): void;
  /** How large something is at the moment. */
  gauge(metric: string, value: number, unit: GaugeUnit): void;
}

export type GaugeUnit = 'Count' | 'Seconds' | 'Milliseconds';

/** One JSON line for every log entry, on standard error; metrics are dropped. For the local service and the tests. */
export function jsonLinesTelemetry(
  write: (line: string) => void = (line) => process.stderr.write(line),
): Telemetry {
  const log = (level: string, message: string, fields: LogFields): void => {
    const { cause, ...rest } = fields;
    const entry = {
      level,
      message,
      ...rest,
      ...(cause === undefined
        ? {}
        : { cause: cause instanceof Error ? (cause.stack ?? cause.message) : String(cause) }),
    };
    write(`${JSON.stringify(entry)}\n`);
  };
  return {
    warn: (message, fields) => log('warn', message, fields),
    error: (message, fields) => log('error', message, fields),
    count: () => undefined,
    gauge: () => undefined,
  };
}
