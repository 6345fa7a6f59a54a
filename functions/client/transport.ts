/**
 * Requests with retries. Every request of the API may be repeated: reads by their nature, a push
 * because the same push again is a success. So a request that got no response, or one of 408, 429
 * or 5xx, is sent again after a random wait. Where a second time is not as good as the first, the
 * error says that the first may have done it.
 */
import { ApiError, ConnectionError, parseProblem, UnexpectedResponseError } from './errors.ts';
import { pause } from './pause.ts';

/** Capped exponential backoff with full jitter. */
export interface RetryPolicy {
  /** Tries in all, the first included. */
  readonly attempts: number;
  /** The first wait is random between 0 and this; each later one's bound is twice the last. */
  readonly baseMs: number;
  /** Where the bound stops growing. */
  readonly capMs: number;
}

/**
 * Six tries take up to 6 s of waiting: a deployment or a failover, not an outage.
 *
 * @example
 * ```ts
 * import { createClient, DEFAULT_RETRY } from '@resource-map/client';
 *
 * const client = createClient({ baseUrl: 'http://127.0.0.1:8080', retry: { ...DEFAULT_RETRY, attempts: 3 } });
 * ```
 */
export const DEFAULT_RETRY: RetryPolicy = { attempts: 6, baseMs: 200, capMs: 5_000 };

/** A service that asks for more than this in Retry-After is asked again sooner. */
const MAX_RETRY_AFTER_MS = 60_000;

/** Without a response for this long, beyond the time that the request itself asks for, the connection is dead. */
const ATTEMPT_TIMEOUT_MS = 30_000;

/** A try has failed, and another will be made. */
export interface RetryWait {
  /** Milliseconds until then. */
  readonly ms: number;
  /** What the call would fail with, were it the last try. */
  readonly error: Error;
}

export interface TransportOptions {
  readonly baseUrl: URL;
  /** A bearer token, or what gives the present one: a projected service account token changes every hour. */
  readonly token?: string | (() => string | Promise<string>);
  readonly fetch: typeof fetch;
  readonly retry: RetryPolicy;
  /** Told before each wait. */
  readonly onWait?: (wait: RetryWait) => void;
}

export interface HttpRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Percent-encoded, with a slash at the front; the query with it. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer>;
  /** Time that the service may hold the response. */
  readonly holdMs?: number;
  readonly signal?: AbortSignal | undefined;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
  /** For messages. */
  readonly url: string;
}

/**
 * Sends a request and reads the whole response.
 *
 * @returns a response of 2xx or 304
 * @throws ApiError for a problem details response, after all tries where it is retryable
 * @throws UnexpectedResponseError for any other response
 * @throws ConnectionError where no response came in all tries
 * @throws the signal's reason, and what the token's function throws
 */
export async function send(options: TransportOptions, request: HttpRequest): Promise<HttpResponse> {
  const { attempts, baseMs, capMs } = options.retry;
  let possiblyApplied = false;
  for (let attempt = 1; ; attempt++) {
    const outcome = await tryOnce(options, request, possiblyApplied);
    if (outcome.kind === 'answer') return outcome.answer;
    if (attempt >= attempts) throw outcome.error;
    possiblyApplied ||= outcome.possiblyApplied;
    const jitterMs = Math.random() * Math.min(capMs, baseMs * 2 ** (attempt - 1));
    const ms = Math.max(jitterMs, outcome.retryAfterMs);
    options.onWait?.({ ms, error: outcome.error });
    await pause(ms, request.signal);
  }
}

type Outcome =
  | { readonly kind: 'answer'; readonly answer: HttpResponse }
  | {
      readonly kind: 'try-again';
      readonly error: Error;
      readonly possiblyApplied: boolean;
      readonly retryAfterMs: number;
    };

/** @param mayBeDone whether an earlier try may have been carried out */
async function tryOnce(
  options: TransportOptions,
  request: HttpRequest,
  possiblyApplied: boolean,
): Promise<Outcome> {
  request.signal?.throwIfAborted();
  // A base URL may have a path of its own, such as the stage of an API gateway.
  const url = options.baseUrl.href.replace(/\/$/, '') + request.path;
  // Before anything that may be tried again: that there is no token is nothing that a wait fixes.
  const token = typeof options.token === 'function' ? await options.token() : options.token;
  let answer: HttpResponse;
  try {
    answer = await exchange(options, request, url, token);
  } catch (cause) {
    request.signal?.throwIfAborted();
    const error = new ConnectionError(request.method, url, cause);
    return { kind: 'try-again', error, possiblyApplied: true, retryAfterMs: 0 };
  }
  if ((answer.status >= 200 && answer.status < 300) || answer.status === 304)
    return { kind: 'answer', answer };

  const problem = parseProblem(answer.status, answer.body);
  const error =
    problem === undefined
      ? new UnexpectedResponseError(
          request.method,
          url,
          `the response is ${answer.status} without problem details`,
        )
      : new ApiError(problem, { possiblyApplied, retryAfterMs: retryAfterMs(answer.headers) });
  // A gateway in front of the service answers 502, 503 and 504 in its own words.
  const retryable = answer.status === 408 || answer.status === 429 || answer.status >= 500;
  if (!retryable) throw error;
  // 408 and 429 are said before anything is done; a gateway says 502 and 504 of what it cannot know.
  return {
    kind: 'try-again',
    error,
    possiblyApplied: answer.status >= 500,
    retryAfterMs: retryAfterMs(answer.headers),
  };
}

async function exchange(
  options: TransportOptions,
  request: HttpRequest,
  url: string,
  token: string | undefined,
): Promise<HttpResponse> {
  const timeout = AbortSignal.timeout(ATTEMPT_TIMEOUT_MS + (request.holdMs ?? 0));
  const response = await options.fetch(url, {
    method: request.method,
    headers: { ...request.headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
    ...(request.body === undefined ? {} : { body: request.body }),
    // A redirect would carry a push and its token to wherever it points.
    redirect: 'manual',
    signal: request.signal === undefined ? timeout : AbortSignal.any([request.signal, timeout]),
  });
  // Read here: a response that breaks off is no response, and is retried like one.
  const body = new Uint8Array(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, body, url };
}

function retryAfterMs(headers: Headers): number {
  const value = headers.get('retry-after');
  if (value === null) return 0;
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS) : 0;
}
