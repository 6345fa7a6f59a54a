/** Listens to GET /local/events as a client does that knows nothing of the service. */
import { createParser } from 'eventsource-parser';
import type { BusEvent } from '../../functions/local/event-bus.ts';

const TIMEOUT_MS = 15_000;

export interface Listener {
  readonly events: readonly (BusEvent & { readonly sseId: string })[];
  /** Data of the events named gap. */
  readonly gaps: readonly unknown[];
  /** Resolves once `count` events came. */
  waitFor(count: number): Promise<void>;
  /** Resolves once the events are what is waited for. */
  until(what: () => boolean): Promise<void>;
  /** Resolves when the service ended the stream. */
  readonly ended: Promise<void>;
  stop(): void;
}

/** Resolves once the service listens. */
export async function listen(url: string, lastEventId?: string): Promise<Listener> {
  const gone = new AbortController();
  const response = await fetch(`${url}/local/events`, {
    headers: lastEventId === undefined ? {} : { 'last-event-id': lastEventId },
    signal: gone.signal,
  });
  if (response.body === null || response.status !== 200)
    throw new Error(`The response is ${response.status}.`);
  const body = response.body;
  const events: (BusEvent & { readonly sseId: string })[] = [];
  const gaps: unknown[] = [];
  let wake = (): void => undefined;
  const parser = createParser({
    onEvent: ({ event, data, id }) => {
      if (event === 'gap') {
        gaps.push(JSON.parse(data));
        return;
      }
      events.push({ ...(JSON.parse(data) as BusEvent), sseId: id ?? '' });
      wake();
    },
  });
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of body) parser.feed(decoder.decode(chunk, { stream: true }));
    } catch (error) {
      if (!gone.signal.aborted) throw error;
    }
  };
  const ended = read();
  const until = async (what: () => boolean): Promise<void> => {
    const deadline = AbortSignal.timeout(TIMEOUT_MS);
    while (!what()) {
      await new Promise<void>((resolve, reject) => {
        wake = resolve;
        deadline.onabort = () => reject(new Error(`Only these events came: ${JSON.stringify(events)}`));
      });
    }
  };
  return {
    events,
    gaps,
    ended,
    stop: () => gone.abort(),
    until,
    waitFor: (count) => until(() => events.length >= count),
  };
}
