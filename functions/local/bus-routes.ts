/**
 * The two ends of the local bus: `PutEvents` as the AWS SDK calls it (AWS JSON 1.1), and the
 * events as server-sent events.
 */
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { App } from '../http/app-env.ts';
import { refuseUnknownParameters } from '../http/query.ts';
import { type BodyLimits, readBody } from '../http/read-body.ts';
import { type LocalBus, PutEventsError } from './event-bus.ts';
import { ListenerLimiter } from './listener-limiter.ts';

/** The service that the client's target names, and the one operation of it that the bus has. */
const TARGET = 'AWSEvents.PutEvents';

/** Above the 256 KB that a call may have, JSON's escapes included. */
const BUS_BODY: BodyLimits = { sentBytes: 4 * 1024 * 1024, inflatedBytes: 4 * 1024 * 1024 };

/** Without a line for this long a proxy takes the connection for dead. */
const KEEP_ALIVE_MS = 15_000;

/** After which a listener that was cut off comes back. */
const RETRY_MS = 1_000;

/** Where the EventBridge client is pointed. */
export function putEventsRoutes(app: App, bus: LocalBus): void {
  app.post('/', async (c) => {
    const target = c.req.header('x-amz-target');
    if (target !== TARGET) {
      return awsError(
        c,
        'UnknownOperationException',
        `The bus knows ${TARGET}, not ${JSON.stringify(target)}.`,
      );
    }
    let call: unknown;
    try {
      call = JSON.parse(Buffer.from(await readBody(c, BUS_BODY)).toString('utf8'));
    } catch {
      return awsError(c, 'SerializationException', 'The body is no JSON.');
    }
    try {
      const Entries = bus.put((call as { Entries?: unknown } | null)?.Entries);
      const FailedEntryCount = Entries.filter((entry) => 'ErrorCode' in entry).length;
      return amzJson(c, 200, { FailedEntryCount, Entries });
    } catch (error) {
      if (!(error instanceof PutEventsError)) throw error;
      return awsError(c, 'ValidationException', error.message);
    }
  });
}

/** Where clients listen to changes. */
export function eventRoutes(app: App, bus: LocalBus): void {
  const places = new ListenerLimiter();
  app.get('/local/events', (c) => {
    refuseUnknownParameters(c, []);
    // Nobody would read the stream, nor end it.
    if (c.req.method === 'HEAD') return c.body(null, 200, { 'content-type': 'text/event-stream' });
    const release = places.take(c.get('principal'));
    const lastEventId = c.req.header('last-event-id');
    const subscription = bus.subscribe(lastEventId);
    return streamSSE(c, async (stream) => {
      const gone = new AbortController();
      stream.onAbort(() => {
        release();
        gone.abort();
      });
      try {
        // Sent at once, so that a client knows that it listens before it makes something happen.
        await stream.write(`: listening\nretry: ${RETRY_MS}\n\n`);
        if (subscription.hasGap)
          await stream.writeSSE({ event: 'gap', data: JSON.stringify({ lastEventId }) });
        for (;;) {
          const events = await subscription.take(KEEP_ALIVE_MS, gone.signal);
          if (events === undefined) return;
          if (events.length === 0) await stream.write(': keep-alive\n\n');
          for (const event of events) await stream.writeSSE({ id: event.id, data: JSON.stringify(event) });
        }
      } finally {
        release();
      }
    });
  });
}

function awsError(c: Context, type: string, message: string): Response {
  return amzJson(c, 400, { __type: type, message });
}

function amzJson(c: Context, status: 200 | 400, body: unknown): Response {
  return c.body(JSON.stringify(body), status, { 'content-type': 'application/x-amz-json-1.1' });
}
