/**
 * The bus of the local service: takes what EventBridge takes, and gives listeners what
 * EventBridge delivers. It keeps the latest events for listeners that come back; it is memory
 * only, so it ends with the process.
 */
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { MAX_ENTRIES, MAX_REQUEST_BYTES } from '../lambdas/notify/publisher.ts';

/** An event as a target of EventBridge gets it. */
export interface BusEvent {
  readonly version: '0';
  readonly id: string;
  readonly 'detail-type': string;
  readonly source: string;
  readonly account: string;
  /** RFC 3339, in whole seconds, as EventBridge writes it. */
  readonly time: string;
  readonly region: string;
  readonly resources: readonly string[];
  readonly detail: Readonly<Record<string, unknown>>;
}

/** What became of one entry of a PutEvents call. */
export type PutResult =
  | { readonly EventId: string }
  | { readonly ErrorCode: string; readonly ErrorMessage: string };

/** A call that is refused as a whole. */
export class PutEventsError extends Error {
  override readonly name = 'PutEventsError';
}

/** Some megabytes: an event has one or two kilobytes. */
const KEPT_EVENTS = 4_096;

/** What stands for an account and a region where there is none. */
const ACCOUNT = '000000000000';
const REGION = 'local';

export class LocalBus {
  readonly #kept: BusEvent[] = [];
  /** Events that were dropped before the first kept one. */
  #dropped = 0;
  readonly #signals = new EventEmitter().setMaxListeners(0);
  #closed = false;

  constructor(private readonly now: () => number = Date.now) {}

  /**
   * @param entries of a PutEvents call, unchecked
   * @throws PutEventsError where the call is refused as a whole
   */
  put(entries: unknown): readonly PutResult[] {
    if (!Array.isArray(entries) || entries.length < 1 || entries.length > MAX_ENTRIES) {
      const count = Array.isArray(entries) ? `${entries.length} entries` : 'no list of entries';
      throw new PutEventsError(`The call has ${count}; PutEvents takes 1 to ${MAX_ENTRIES} in "Entries".`);
    }
    const bytes = Buffer.byteLength(JSON.stringify(entries));
    if (bytes > MAX_REQUEST_BYTES) {
      throw new PutEventsError(`The entries have ${bytes} bytes; PutEvents takes ${MAX_REQUEST_BYTES}.`);
    }
    const results = entries.map((entry) => this.#putOne(entry));
    this.#signals.emit('change');
    return results;
  }

  /**
   * Listens from now on; with an id, after the event of that id. Of an event that is not kept any more, or
   * was another process's, nobody can say what followed: the subscription then has a gap, and begins with
   * the first event that is kept.
   */
  subscribe(afterId?: string): Subscription {
    if (afterId === undefined) return new Subscription(this, this.#dropped + this.#kept.length);
    const known = this.#kept.findIndex((event) => event.id === afterId);
    return new Subscription(this, this.#dropped + known + 1, known < 0);
  }

  /** Ends all subscriptions. */
  close(): void {
    this.#closed = true;
    this.#signals.emit('change');
  }

  /** @internal the kept events from a position on, or nothing where the bus has closed or dropped it */
  from(position: number): readonly BusEvent[] | undefined {
    if (this.#closed || position < this.#dropped) return undefined;
    return this.#kept.slice(position - this.#dropped);
  }

  /** @internal resolves at the next event, the bus's end, or the signal */
  async changed(signal: AbortSignal): Promise<void> {
    await once(this.#signals, 'change', { signal }).catch(() => undefined);
  }

  #putOne(entry: unknown): PutResult {
    const { Source, DetailType, Detail, Time, Resources } = (entry ?? {}) as Record<string, unknown>;
    for (const [name, value] of Object.entries({ Source, DetailType, Detail })) {
      if (typeof value !== 'string' || value === '') {
        return {
          ErrorCode: 'InvalidArgument',
          ErrorMessage: `Parameter ${name} is not valid. Reason: it is a required text.`,
        };
      }
    }
    const detail = objectOf(String(Detail));
    if (detail === undefined) {
      return { ErrorCode: 'MalformedDetail', ErrorMessage: 'Detail is malformed: it is no JSON object.' };
    }
    const event: BusEvent = {
      version: '0',
      id: randomUUID(),
      'detail-type': String(DetailType),
      source: String(Source),
      account: ACCOUNT,
      time: rfc3339(typeof Time === 'number' ? Time * 1_000 : this.now()),
      region: REGION,
      resources: Array.isArray(Resources) ? Resources.map(String) : [],
      detail,
    };
    this.#kept.push(event);
    if (this.#kept.length > KEPT_EVENTS) {
      this.#kept.shift();
      this.#dropped++;
    }
    return { EventId: event.id };
  }
}

/** A place in the bus from which events are taken. One that falls behind what is kept has ended. */
export class Subscription {
  #position: number;

  constructor(
    private readonly bus: LocalBus,
    position: number,
    /** Whether events may have been missed before the first one. */
    readonly hasGap = false,
  ) {
    this.#position = position;
  }

  /**
   * What came since the last call, waiting up to `waitMs` for it.
   *
   * @returns an empty list where nothing came; nothing where the subscription has ended
   */
  async take(waitMs: number, signal: AbortSignal): Promise<readonly BusEvent[] | undefined> {
    const ready = this.bus.from(this.#position);
    if (ready?.length === 0) await this.bus.changed(AbortSignal.any([signal, AbortSignal.timeout(waitMs)]));
    if (signal.aborted) return undefined;
    const events = this.bus.from(this.#position);
    this.#position += events?.length ?? 0;
    return events;
  }
}

function objectOf(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function rfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z');
}
