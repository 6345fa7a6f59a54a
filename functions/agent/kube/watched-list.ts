/**
 * The objects of one kind, kept as they are: listed once, then watched. A watch that breaks
 * goes on where it was; only when the server has forgotten that (410) is the kind listed again.
 */
import { isDeepStrictEqual } from 'node:util';
import { pause } from '../../client/pause.ts';
import { at, member, text } from '../mapping/json.ts';
import type { KubeConnection } from './connection.ts';
import { currentVersion, waitForCache } from './current-version.ts';
import { KubeApiError, KubeConnectionError } from './errors.ts';
import { listPath, type WatchedKind } from './kinds.ts';
import { type Listing, listObjects } from './list.ts';
import { isOlder } from './resource-version.ts';

/** The server sends a bookmark a minute; one that is missed can be late, two are not. */
export const SILENCE_MS = 150_000;
/** What a server's cache has is on its way to the watches of it within this. */
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
  /** Whether the watch has everything that was there when it was opened: a server's cache may be behind its store. */
  #caughtUp = false;

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
    return this.#state === 'watching' && this.#caughtUp && nowMs - this.#heardMs <= silenceMs;
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
        await this.#watch(signal);
        failures = 0;
        this.#options.onRestart(this.kind.resource, 'reconnect');
      } catch (error) {
        if (signal.aborted) return;
        const worked = this.#caughtUp;
        this.#state = 'broken';
        const wentBack = error instanceof StoreWentBackError;
        if (wentBack) this.#options.log(error.message);
        if (wentBack || (error instanceof KubeApiError && (error.gone || error.absent))) {
          listed = false;
          this.#options.onRestart(this.kind.resource, 'relist');
          if (wentBack || error.gone) continue;
        } else this.#options.onRestart(this.kind.resource, 'reconnect');
        failures = worked ? 1 : failures + 1;
        // A server may never know the version that we ask for.
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
    this.#caughtUp = false;
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
    this.#caughtUp = false;
    const response = await this.#connection.open(path, { signal, idleMs: silenceMs });
    this.#state = 'watching';
    let rest = '';
    response.setEncoding('utf8');
    const over = new AbortController();
    const catchingUp = this.#catchUp(AbortSignal.any([signal, over.signal])).catch((error: Error) => {
      if (!over.signal.aborted) response.destroy(error);
    });
    try {
      for await (const chunk of response) {
        const lines = (rest + (chunk as string)).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) if (line !== '') this.#apply(JSON.parse(line), path);
      }
    } catch (cause) {
      const known = [KubeApiError, KubeConnectionError, StoreWentBackError];
      if (known.some((each) => cause instanceof each) || signal.aborted) throw cause;
      throw new KubeConnectionError('GET', path, cause);
    } finally {
      over.abort();
      response.destroy();
      await catchingUp;
    }
    this.#state = 'broken';
  }

  /**
   * Until a watch has shown what the store held when it was opened, its facts may be those of
   * before it broke. The store's version is that of a list, which is never of a cache; the watch has it
   * once an event or a bookmark says so, or once the server's cache has, for most kinds change rarely.
   */
  async #catchUp(signal: AbortSignal): Promise<void> {
    const askedMs = Date.now();
    const current = await currentVersion(this.#connection, this.kind, this.#version, signal);
    if (isOlder(current, this.#resourceVersion))
      throw new StoreWentBackError(this.kind.resource, this.#resourceVersion, current);
    if (isOlder(this.#resourceVersion, current)) {
      await waitForCache(this.#connection, this.kind, this.#version, current, signal);
      if (isOlder(this.#resourceVersion, current)) await pause(SETTLE_MS, signal);
    }
    this.#heardMs = Math.max(this.#heardMs, askedMs);
    this.#caughtUp = true;
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
    const version = text(at(object, 'metadata', 'resourceVersion')) ?? this.#resourceVersion;
    // Of a server that is behind what another one, or a list, has shown: nothing goes back to that.
    if (isOlder(version, this.#resourceVersion)) return;
    this.#heardMs = Date.now();
    this.#resourceVersion = version;
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

/** What is stored is older than what was seen, as after a backup was restored: that is the state now. */
class StoreWentBackError extends Error {
  override readonly name = 'StoreWentBackError';

  constructor(resource: string, seen: string, stored: string) {
    super(
      `${resource}: the API server's store is at version ${stored}, before ${seen}, which was seen; everything is listed again.`,
    );
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
