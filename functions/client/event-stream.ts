/**
 * The events of a local service, as they happen. In AWS they are on an EventBridge bus, where
 * rules bring them to their targets; {@link clusterChangeOf} reads them there, too.
 */
import { fromJson, type JsonValue } from '@bufbuild/protobuf';
import { createParser } from 'eventsource-parser';
import { type ClusterChange, ClusterChangeSchema } from '../gen/resourcemap/v1/events_pb.ts';
import { ApiError, ConnectionError, parseProblem, UnexpectedResponseError } from './errors.ts';
import { pause } from './pause.ts';

/** An event as EventBridge delivers it to a target, and the local service to a listener. */
export interface DeliveredEvent {
  readonly id: string;
  readonly 'detail-type': string;
  readonly source: string;
  /** RFC 3339. */
  readonly time: string;
  /** {@link clusterChangeOf} reads it. */
  readonly detail: unknown;
}

const CHANGES: ReadonlySet<string> = new Set([
  'Cluster Published',
  'Cluster Refreshed',
  'Cluster Omitted',
  'Cluster Returned',
]);

/**
 * What an event says of a cluster; nothing where it is an event of another kind.
 *
 * @example
 * ```ts
 * import { clusterChangeOf, type DeliveredEvent } from '@resource-map/client';
 *
 * // A Lambda function behind a rule on the event bus.
 * export const handler = async (event: DeliveredEvent): Promise<void> => {
 *   const change = clusterChangeOf(event);
 *   if (change !== undefined) console.log(`${change.clusterId} is at ${change.logicalCounter}`);
 * };
 * ```
 */
export function clusterChangeOf(event: DeliveredEvent): ClusterChange | undefined {
  if (!CHANGES.has(event['detail-type'])) return undefined;
  // A service that is newer than this code may say more.
  return fromJson(ClusterChangeSchema, event.detail as JsonValue, { ignoreUnknownFields: true });
}

export interface EventStreamOptions {
  readonly baseUrl: string | URL;
  /** A bearer token, or what gives the present one. */
  readonly token?: string | (() => string | Promise<string>);
  readonly fetch?: typeof fetch;
  /** Ends the stream. */
  readonly signal?: AbortSignal;
  /**
   * Milliseconds after which a stream that broke off is taken up again, 500 unless given; each
   * further try that fails doubles them, up to twenty times as many.
   */
  readonly reconnectDelayMs?: number;
  /** Called when a stream that had begun broke off and is about to be taken up again. */
  readonly onInterruption?: (cause: unknown) => void;
  /** Called when the service listens, the first time and after each interruption. */
  readonly onListening?: () => void;
  /**
   * Called when the stream goes on without the service knowing the last event that came, since it was started
   * again or dropped it: events may be missing, so read the map.
   */
  readonly onGap?: () => void;
}

const RECONNECT_DELAY_MS = 500;
/** The longest delay, as a multiple of the first. */
const LONGEST_DELAY = 20;

/** The service sends a line at least every 15 s; a connection without any is dead. */
const SILENCE_MS = 45_000;

/** Characters of an event. Ours have a few thousand; what has this many is something else, and may have no end. */
const MAX_EVENT_CHARACTERS = 1024 * 1024;

/**
 * Listens until the signal. A stream that breaks off is taken up after the last event that came,
 * as far as the service still has what followed; around a restart an event may come twice, or,
 * from a service on its embedded engine, not at all. Read the map after an interruption.
 *
 * @throws ApiError where the service refuses; ConnectionError where it does not answer the first
 * time; UnexpectedResponseError where something else answers
 *
 * @example
 * ```ts
 * import { eventStream } from '@resource-map/client';
 *
 * for await (const event of eventStream({ baseUrl: 'http://127.0.0.1:8080' })) console.log(event.time, event['detail-type']);
 * ```
 */
export async function* eventStream(options: EventStreamOptions): AsyncGenerator<DeliveredEvent, void> {
  let lastEventId: string | undefined;
  const firstMs = options.reconnectDelayMs ?? RECONNECT_DELAY_MS;
  let pauseMs = firstMs;
  let begun = false;
  for (;;) {
    try {
      for await (const event of connect(options, lastEventId, () => {
        begun = true;
        options.onListening?.();
      })) {
        lastEventId = event.id;
        pauseMs = firstMs;
        yield event;
      }
    } catch (error) {
      if (options.signal?.aborted) return;
      // A refusal stays one, and a service that never answered is probably somewhere else. But it may
      // not have noticed yet that the connection before is gone, or be too busy at the moment.
      const passes = error instanceof ConnectionError || (error instanceof ApiError && error.retryable);
      if (!begun || !passes) throw error;
      options.onInterruption?.(error);
    }
    try {
      await pause(pauseMs, options.signal);
    } catch {
      return;
    }
    pauseMs = Math.min(LONGEST_DELAY * firstMs, pauseMs * 2);
  }
}

async function* connect(
  {
    baseUrl,
    token,
    signal,
    onGap,
    fetch: fetchWith = (input, init) => fetch(input, init),
  }: EventStreamOptions,
  lastEventId: string | undefined,
  onBegin: () => void,
): AsyncGenerator<DeliveredEvent, void> {
  const url = `${new URL(baseUrl).href.replace(/\/$/, '')}/local/events`;
  const bearer = typeof token === 'function' ? await token() : token;
  const silence = new AbortController();
  const watch = (): ReturnType<typeof setTimeout> =>
    setTimeout(() => silence.abort(new Error('the stream fell silent')), SILENCE_MS);
  let watchdog = watch();
  try {
    const response = await fetchWith(url, {
      headers: {
        accept: 'text/event-stream',
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      },
      redirect: 'manual',
      signal: signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]),
    });
    await assertEventStream(response, url);
    onBegin();
    const events: DeliveredEvent[] = [];
    const parser = createParser({
      maxBufferSize: MAX_EVENT_CHARACTERS,
      onEvent: ({ event, data }) => {
        if (event === 'gap') onGap?.();
        else events.push(JSON.parse(data) as DeliveredEvent);
      },
      onError: ({ type }) => {
        if (type !== 'max-buffer-size-exceeded') return;
        throw new UnexpectedResponseError(
          'GET',
          url,
          `an event of more than ${MAX_EVENT_CHARACTERS} characters comes in`,
        );
      },
    });
    const decoder = new TextDecoder();
    // Safari cannot iterate over a body.
    const reader = response.body?.getReader();
    for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) {
      clearTimeout(watchdog);
      watchdog = watch();
      parser.feed(decoder.decode(read.value, { stream: true }));
      yield* events.splice(0);
    }
  } catch (error) {
    if (error instanceof ApiError || error instanceof UnexpectedResponseError) throw error;
    throw new ConnectionError('GET', url, error);
  } finally {
    clearTimeout(watchdog);
    // A listener that leaves early must not keep the connection.
    silence.abort();
  }
}

async function assertEventStream(response: Response, url: string): Promise<void> {
  const type = response.headers.get('content-type')?.split(';', 1)[0] ?? 'absent';
  if (response.status === 200 && type === 'text/event-stream') return;
  const problem = parseProblem(response.status, new Uint8Array(await response.arrayBuffer()));
  if (problem !== undefined) throw new ApiError(problem);
  throw new UnexpectedResponseError(
    'GET',
    url,
    `the response is ${response.status} of type ${type}, not text/event-stream`,
  );
}
