/**
 * The objects of one kind, kept as they are: listed once, then watched. A watch that breaks
 * goes on where it was; only when the server has forgotten that (410) is the kind listed again.
 */
import { isDeepStrictEqual } from 'node:util';
import { pause } from '../../client/pause.ts';
import { at, member, text } from '../mapping/json.ts';
import type { KubeConnection } from './connection.ts';
import { KubeApiError, KubeConnectionError } from './errors.ts';
import { listPath, type WatchedKind } from './kinds.ts';
import { type Listing, listObjects } from './list.ts';

/** The server sends a bookmark a minute; one that is missed can be late, two are not. */
export const SILENCE_MS = 150_000;
/** A watch that was opened again has what it missed within this, or more than this is amiss. */
const SETTLE_MS = 1_000;
/** A kind that is absent may be installed, or allowed, later. */
const ABSENT_RETRY_MS = 300_000;
const WATCH_SECONDS = { least: 300, spread: 300 };
const RELIST_AFTER = 3;
const BACKOFF = { baseMs: 200, capMs: 10_000 };

export interface WatchedListOptions {
  /** Something that a snapshot is made of changed. */
  readonly onChange: () => void;
  readonly onRestart: (resource: string, why: 'relist' | 'reconnect') => void;
  readonly log: (message: string) => void;
  readonly silenceMs?: number;
}

export class WatchedList<T> {
  readonly kind: WatchedKind<T>;
  readonly #connection: KubeConnection;
  readonly #options: WatchedListOptions;
  #items = new Map<string, T>();
  #state: 'starting' | 'watching' | 'broken' | 'absent' = 'starting';
  #resourceVersion = '';
  #version = '';
  /** When the server last said something of this kind: all that was before is known. */
  #heardMs = 0;
  #openedMs = 0;
  #heardSinceOpen = false;

  constructor(connection: KubeConnection, kind: WatchedKind<T>, options: WatchedListOptions) {
    this.#connection = connection;
    this.kind = kind;
    this.#options = options;
  }

  /** Every fact, in no order. */
  values(): readonly T[] {
    return [...this.#items.values()];
  }

  /** Not served, or not to be seen by this account. */
  get absent(): boolean {
    return this.#state === 'absent';
  }

  /** Whether the facts are those of now, as far as anybody can know. */
  isLive(nowMs: number): boolean {
    if (this.#state === 'absent') return true;
    const silenceMs = this.#options.silenceMs ?? SILENCE_MS;
    return (
      this.#state === 'watching' &&
      nowMs - this.#heardMs <= silenceMs &&
      (this.#heardSinceOpen || nowMs - this.#openedMs >= SETTLE_MS)
    );
  }

  /** All that happened before this is in the facts. Of a kind that is absent nothing is missing. */
  get completeUntilMs(): number {
    return this.#state === 'absent' ? Number.POSITIVE_INFINITY : this.#heardMs;
  }

  /** Lists and watches until the signal ends it. */
  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    let listed = false;
    while (!signal.aborted) {
      try {
        if (!listed) {
          listed = await this.#list(signal);
          if (!listed) {
            await quietly(pause(ABSENT_RETRY_MS, signal));
            continue;
          }
        }
        failures = 0;
        await this.#watch(signal);
        this.#options.onRestart(this.kind.resource, 'reconnect');
      } catch (error) {
        if (signal.aborted) return;
        const heard = this.#heardSinceOpen;
        this.#state = 'broken';
        if (error instanceof KubeApiError && (error.gone || error.absent)) {
          listed = false;
          this.#options.onRestart(this.kind.resource, 'relist');
          if (error.gone) continue;
        } else this.#options.onRestart(this.kind.resource, 'reconnect');
        failures = heard ? 1 : failures + 1;
        // A server that was restored from a backup may never know the version that we ask for.
        if (error instanceof KubeApiError && failures >= RELIST_AFTER) listed = false;
        if (failures === 1 || failures % 10 === 0)
          this.#options.log(`${this.kind.resource}: ${(error as Error).message}`);
        const boundMs = Math.min(BACKOFF.capMs, BACKOFF.baseMs * 2 ** Math.min(failures, 10));
        await quietly(pause(boundMs * (0.5 + Math.random() / 2), signal));
      }
    }
  }

  async #list(signal: AbortSignal): Promise<boolean> {
    const items = new Map<string, T>();
    const startedMs = Date.now();
    const listing: Listing | undefined = await listObjects(
      this.#connection,
      this.kind,
      (object) => {
        const key = keyOf(object);
        const fact = this.kind.read(object, this.#items.get(key));
        if (fact !== undefined) items.set(key, fact);
      },
      signal,
    );
    const changed = listing === undefined ? this.#items.size > 0 : !isDeepStrictEqual(items, this.#items);
    this.#items = items;
    this.#state = listing === undefined ? 'absent' : 'watching';
    this.#resourceVersion = listing?.resourceVersion ?? '';
    this.#version = listing?.version ?? '';
    this.#heardMs = startedMs;
    this.#openedMs = Date.now();
    this.#heardSinceOpen = false;
    if (changed) this.#options.onChange();
    return listing !== undefined;
  }

  /** Returns when the server ends the watch, which it does every few minutes. */
  async #watch(signal: AbortSignal): Promise<void> {
    const silenceMs = this.#options.silenceMs ?? SILENCE_MS;
    const seconds = WATCH_SECONDS.least + Math.floor(Math.random() * WATCH_SECONDS.spread);
    const query = new URLSearchParams({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: this.#resourceVersion,
      timeoutSeconds: String(seconds),
    });
    if (this.kind.single !== undefined) query.set('fieldSelector', `metadata.name=${this.kind.single.name}`);
    const path = `${listPath(this.kind, this.#version)}?${query}`;
    const response = await this.#connection.open(path, { signal, idleMs: silenceMs });
    this.#state = 'watching';
    this.#openedMs = Date.now();
    this.#heardSinceOpen = false;
    let rest = '';
    response.setEncoding('utf8');
    try {
      for await (const chunk of response) {
        const lines = (rest + (chunk as string)).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) if (line !== '') this.#apply(JSON.parse(line), path);
      }
    } catch (cause) {
      if (cause instanceof KubeApiError || signal.aborted) throw cause;
      throw new KubeConnectionError('GET', path, cause);
    } finally {
      response.destroy();
    }
    this.#state = 'broken';
  }

  #apply(event: unknown, path: string): void {
    const type = text(member(event, 'type'));
    const object = member(event, 'object');
    if (type === 'ERROR') {
      const code = member(object, 'code');
      throw new KubeApiError(
        'GET',
        path,
        typeof code === 'number' ? code : 500,
        text(member(object, 'message')) ?? 'the watch failed',
      );
    }
    this.#heardMs = Date.now();
    this.#heardSinceOpen = true;
    this.#resourceVersion = text(at(object, 'metadata', 'resourceVersion')) ?? this.#resourceVersion;
    if (type === 'BOOKMARK') return;
    const key = keyOf(object);
    const before = this.#items.get(key);
    const fact = type === 'DELETED' ? undefined : this.kind.read(object, before);
    if (fact === undefined) {
      if (this.#items.delete(key)) this.#options.onChange();
    } else if (!isDeepStrictEqual(before, fact)) {
      this.#items.set(key, fact);
      this.#options.onChange();
    }
  }
}

function keyOf(object: unknown): string {
  return `${text(at(object, 'metadata', 'namespace')) ?? ''}/${text(at(object, 'metadata', 'name')) ?? ''}`;
}

async function quietly(wait: Promise<void>): Promise<void> {
  try {
    await wait;
  } catch {
    // The signal ended it, which the loop sees.
  }
}
