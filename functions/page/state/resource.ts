/** Something of the API that stands on the page, with how old it is; what cannot be refreshed stays. */
import { effect, type ReadonlySignal, signal } from '@preact/signals';
import { ApiError, type ApiRequest, ask } from '../api/request.ts';
import { serverTime } from './clock.ts';
import { signOut, token } from './session.ts';

export interface Loaded<T> {
  readonly data: T | undefined;
  readonly etag: string | undefined;
  /** When the service last said that this is how it is, by its clock. */
  readonly asOfMs: number | undefined;
  /** Why it could not be refreshed since. */
  readonly fault: string | undefined;
  /** Whether a response is awaited for something that is not there yet. */
  readonly loading: boolean;
}

export interface ResourceOptions<T> {
  /** What to ask for; `undefined`: nothing at the moment. */
  readonly request: () => Pick<ApiRequest, 'path' | 'body'> | undefined;
  /** Milliseconds from a response to the next request; `undefined`: it is asked for once. */
  readonly everyMs: ((data: T | undefined) => number) | undefined;
  readonly onData?: (data: T) => void;
  /** Whether what was there stays until the response to another request is there. */
  readonly keep?: boolean;
}

const NOTHING = { data: undefined, etag: undefined, asOfMs: undefined, fault: undefined, loading: false };

/** Milliseconds after a first failure; each further one doubles them. */
const RETRY_MS = 2_000;
const MAX_RETRY_MS = 60_000;

export class Resource<T> {
  readonly #state = signal<Loaded<T>>(NOTHING);
  #request: Pick<ApiRequest, 'path' | 'body'> | undefined;
  #abort = new AbortController();
  #timer: number | undefined;
  #failures = 0;

  constructor(private readonly options: ResourceOptions<T>) {
    let usedToken: string | undefined;
    effect(() => {
      this.#request = options.request();
      // Read here, so that another token asks again.
      const sameToken = token.value === usedToken;
      usedToken = token.value;
      this.#restart(options.keep === true && sameToken);
    });
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden && options.everyMs !== undefined) void this.refresh();
    });
  }

  get state(): ReadonlySignal<Loaded<T>> {
    return this.#state;
  }

  /** Asks now, whatever the schedule. */
  refresh(): Promise<void> {
    this.#abort.abort();
    clearTimeout(this.#timer);
    return this.#load();
  }

  #restart(keep: boolean): void {
    this.#failures = 0;
    const before = keep ? { ...this.#state.peek(), etag: undefined } : NOTHING;
    this.#state.value = { ...before, loading: this.#request !== undefined };
    void this.refresh();
  }

  async #load(): Promise<void> {
    const request = this.#request;
    if (request === undefined) return;
    const abort = new AbortController();
    this.#abort = abort;
    const before = this.#state.peek();
    const usedToken = token.peek();
    try {
      const response = await ask<T>({
        ...request,
        token: usedToken,
        etag: before.etag,
        signal: abort.signal,
      });
      const asOfMs = serverTime(Date.now());
      this.#failures = 0;
      if (response.kind === 'unchanged') {
        this.#state.value = { ...before, asOfMs, fault: undefined, loading: false };
      } else {
        this.options.onData?.(response.data);
        this.#state.value = {
          data: response.data,
          etag: response.etag,
          asOfMs,
          fault: undefined,
          loading: false,
        };
      }
    } catch (error) {
      if (abort.signal.aborted) return;
      this.#failures++;
      // Another request of this tab may have ended the session meanwhile.
      if (error instanceof ApiError && error.status === 401) {
        if (usedToken === token.peek()) signOut(usedToken === undefined ? undefined : error.message);
        return;
      }
      this.#state.value = { ...before, fault: (error as Error).message, loading: false };
    }
    this.#schedule();
  }

  #schedule(): void {
    const { everyMs } = this.options;
    const retryMs = Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** (this.#failures - 1));
    const nextMs = this.#failures > 0 ? retryMs : everyMs?.(this.#state.peek().data);
    if (nextMs === undefined) return;
    this.#timer = setTimeout(() => {
      // Nobody looks: the next look asks at once.
      if (!document.hidden) void this.#load();
    }, nextMs);
  }
}
