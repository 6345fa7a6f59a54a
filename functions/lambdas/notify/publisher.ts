/**
 * Puts events on the bus. For every event the caller learns what became of it; a call that
 * fails in part is repeated for that part alone.
 */
import {
  type EventBridgeClient,
  EventBridgeServiceException,
  PutEventsCommand,
  type PutEventsRequestEntry,
} from '@aws-sdk/client-eventbridge';
import { backOff, forEachConcurrently } from '../../storage/retry.ts';
import { EVENT_SOURCE, type OutgoingEvent } from './event.ts';

/** What PutEvents takes at once. */
export const MAX_ENTRIES = 10;
export const MAX_REQUEST_BYTES = 256 * 1024;

/** Bytes that a time counts in an entry's size, whatever it says. */
const TIME_BYTES = 14;

/** Calls under way at once: a full batch of the stream, 100 clusters, takes two rounds. */
const CONCURRENCY = 5;

/** The stream calls us again with whatever is left, so this only rides out a short throttle. */
const ATTEMPTS = 4;
const BACKOFF = { baseMs: 50, capMs: 1_000 } as const;

/** Codes of entries, and names of errors, that are about what was sent, so that sending it again is no use. */
const REFUSALS = new Set(['InvalidArgument', 'MalformedDetail', 'ValidationException', 'ValidationError']);

export type Delivery =
  | { readonly kind: 'sent' }
  /** May go through the next time. */
  | { readonly kind: 'failed'; readonly cause: string }
  /** Never will. */
  | { readonly kind: 'refused'; readonly cause: string };

const SENT: Delivery = { kind: 'sent' };

interface Pending {
  readonly index: number;
  readonly entry: PutEventsRequestEntry;
  readonly bytes: number;
}

export class EventPublisher {
  constructor(
    private readonly client: EventBridgeClient,
    private readonly busName: string,
  ) {}

  /** Sends all events, each at least once; never throws. One delivery an event, in their order. */
  async publish(events: readonly OutgoingEvent[]): Promise<readonly Delivery[]> {
    const deliveries = new Map<number, Delivery>();
    let pending = events.map((event, index): Pending => {
      const entry: PutEventsRequestEntry = {
        EventBusName: this.busName,
        Source: EVENT_SOURCE,
        DetailType: event.detailType,
        Detail: event.detail,
        Time: event.time,
      };
      return { index, entry, bytes: entryBytes(entry) };
    });
    for (let attempt = 0; attempt < ATTEMPTS && pending.length > 0; attempt++) {
      if (attempt > 0) await backOff(BACKOFF, attempt);
      await forEachConcurrently(requestsOf(pending), CONCURRENCY, async (request) => {
        const responses = await this.#put(request);
        request.forEach(({ index }, i) => {
          deliveries.set(
            index,
            responses[i] ?? { kind: 'failed', cause: 'The response has no entry for it.' },
          );
        });
      });
      pending = pending.filter(({ index }) => deliveries.get(index)?.kind === 'failed');
    }
    return events.map((_, index) => deliveries.get(index) ?? { kind: 'failed', cause: 'It was not sent.' });
  }

  async #put(request: readonly Pending[]): Promise<readonly Delivery[]> {
    try {
      const response = await this.client.send(
        new PutEventsCommand({ Entries: request.map(({ entry }) => entry) }),
      );
      return request.map((_, i) => {
        const { EventId, ErrorCode = 'no event id', ErrorMessage = '' } = response.Entries?.[i] ?? {};
        if (EventId !== undefined) return SENT;
        return {
          kind: REFUSALS.has(ErrorCode) ? 'refused' : 'failed',
          cause: `EventBridge: ${ErrorCode}: ${ErrorMessage}`,
        };
      });
    } catch (error) {
      const cause = `EventBridge: ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`;
      if (!isRefusal(error)) return request.map(() => ({ kind: 'failed', cause }));
      if (request.length === 1) return [{ kind: 'refused', cause }];
      // One bad entry has the whole call refused: which one is found by sending each alone.
      const alone: Delivery[] = [];
      for (const pending of request) alone.push(...(await this.#put([pending])));
      return alone;
    }
  }
}

/** A missing bus or right is refused as well, but by no fault of the event: somebody will fix it. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof EventBridgeServiceException)) return false;
  return REFUSALS.has(error.name) || error.$metadata.httpStatusCode === 413;
}

/** Calls within the limits of count and size. An entry above the size goes alone, to be refused alone. */
function requestsOf(pending: readonly Pending[]): readonly (readonly Pending[])[] {
  const requests: Pending[][] = [];
  let request: Pending[] = [];
  let bytes = 0;
  for (const next of pending) {
    if (request.length === MAX_ENTRIES || (request.length > 0 && bytes + next.bytes > MAX_REQUEST_BYTES)) {
      requests.push(request);
      request = [];
      bytes = 0;
    }
    request.push(next);
    bytes += next.bytes;
  }
  if (request.length > 0) requests.push(request);
  return requests;
}

/** Size of an entry as EventBridge counts it. Source: EventBridge user guide, "Calculating PutEvents event entry size". */
export function entryBytes(entry: PutEventsRequestEntry): number {
  const texts = [entry.Source, entry.DetailType, entry.Detail, ...(entry.Resources ?? [])];
  return texts.reduce(
    (bytes, text) => bytes + Buffer.byteLength(text ?? ''),
    entry.Time === undefined ? 0 : TIME_BYTES,
  );
}
