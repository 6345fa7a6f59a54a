/** What the service says of itself: log lines and metrics, whatever takes them. */
import { AsyncLocalStorage } from 'node:async_hooks';

/** Fields of a log line. Bodies and tokens are never among them. */
export type LogFields = Readonly<Record<string, unknown>>;

export interface Telemetry {
  warn(message: string, fields: LogFields): void;
  error(message: string, fields: LogFields): void;
  /** A line for a request that was answered, with the level `info`; absent: nobody wants them. */
  readonly access?: (fields: LogFields) => void;
  /** Adds to a counter; dimensions have few values each. */
  count(metric: string, value: number, dimensions?: Readonly<Record<string, string>>): void;
  /** How large something is at the moment; dimensions as for a counter. */
  gauge(metric: string, value: number, unit: GaugeUnit, dimensions?: Readonly<Record<string, string>>): void;
}

export type GaugeUnit = 'Count' | 'Seconds' | 'Milliseconds' | 'Bytes';

const requests = new AsyncLocalStorage<string>();

/** Runs what answers a request, with its id in every line that is logged meanwhile, by whatever depth of the code. */
export function duringRequest<T>(requestId: string, response: () => T): T {
  return requests.run(requestId, response);
}

/** The fields as a line has them: with the id of the request, where one is answered, and a cause as its text, the causes behind it included. */
export function lineFields({ cause, ...rest }: LogFields): LogFields {
  const requestId = requests.getStore();
  return {
    ...(requestId === undefined ? {} : { requestId }),
    ...rest,
    ...(cause === undefined ? {} : { cause: textOfCause(cause) }),
  };
}

/** Deeper than any library nests causes; and what causes itself ends as well. */
const MAX_CAUSES = 5;

/** With the causes of the cause: fetch says that it failed, and only within why. */
function textOfCause(cause: unknown): string {
  const texts: string[] = [];
  for (let at = cause; at !== undefined && texts.length < MAX_CAUSES; ) {
    texts.push(at instanceof Error ? (at.stack ?? at.message) : String(at));
    at = at instanceof Error ? at.cause : undefined;
  }
  return texts.join('\ncaused by ');
}

/**
 * One JSON line for every log entry, on standard error, with the fields that a Lambda function's
 * lines have; metrics are dropped. For the local service and the tests.
 *
 * @param accessLog whether requests get a line each
 * @param level the least severe of the other lines that are written
 */
export function jsonLinesTelemetry(
  write: (line: string) => void = (line) => process.stderr.write(line),
  accessLog = false,
  level: 'warn' | 'error' = 'warn',
): Telemetry {
  const log = (level: string, message: string, fields: LogFields): void => {
    const timestamp = new Date().toISOString();
    write(`${JSON.stringify({ level, message, service: 'local', timestamp, ...lineFields(fields) })}\n`);
  };
  return {
    warn: (message, fields) => (level === 'warn' ? log('warn', message, fields) : undefined),
    error: (message, fields) => log('error', message, fields),
    ...(accessLog ? { access: (fields: LogFields) => log('info', 'request', fields) } : {}),
    count: () => undefined,
    gauge: () => undefined,
  };
}
