/** One request to the service's own origin, with the tab's token. */

/** The service refused, in its own words. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
  ) {
    super(detail);
  }
}

/** No response came: the service is away, or the network is. */
export class NoResponseError extends Error {
  override readonly name = 'NoResponseError';
}

/** Milliseconds that a response may take: behind API Gateway none takes longer than 29 s. */
const TIMEOUT_MS = 30_000;

export interface ApiRequest {
  readonly path: string;
  readonly token: string | undefined;
  /** Posted as JSON; a GET where absent. */
  readonly body?: unknown;
  readonly etag?: string | undefined;
  readonly signal?: AbortSignal;
}

/** `unchanged`: what the caller has under this etag is still the truth. */
export type ApiResponse<T> =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'data'; readonly data: T; readonly etag: string | undefined };

/** @throws ApiError, NoResponseError */
export async function ask<T>({ path, token, body, etag, signal }: ApiRequest): Promise<ApiResponse<T>> {
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        accept: 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(etag === undefined ? {} : { 'if-none-match': etag }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      // The page compares etags itself: a 304 must not become the 200 of a cache.
      cache: 'no-store',
      credentials: 'omit',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    });
    text = await response.text();
  } catch (cause) {
    signal?.throwIfAborted();
    const why = limit.aborted ? `no response within ${TIMEOUT_MS / 1_000} s` : 'no response';
    throw new NoResponseError(`The service gives ${why}.`, { cause });
  }
  if (response.status === 304) return { kind: 'unchanged' };
  if (!response.ok) throw refusal(response.status, text);
  try {
    return { kind: 'data', data: JSON.parse(text) as T, etag: response.headers.get('etag') ?? undefined };
  } catch {
    throw new ApiError(response.status, 'unreadable', `The response to ${path} is not JSON.`);
  }
}

function refusal(status: number, text: string): ApiError {
  try {
    const problem = JSON.parse(text) as { code?: unknown; detail?: unknown; message?: unknown };
    // API Gateway writes `message`, with no problem details around it.
    const detail = problem.detail ?? problem.message;
    return new ApiError(status, String(problem.code ?? status), String(detail ?? `Status ${status}.`));
  } catch {
    return new ApiError(status, String(status), `The service responded with status ${status}.`);
  }
}
