/** What a call can fail with. Each error's message begins with its code, since tools often show nothing else. */
import type { ErrorCode } from '../core/errors.ts';
import type { Finding } from '../core/findings.ts';

/** A code that this version knows, or one that a newer service has added. */
export type ProblemCode = ErrorCode | (string & {});

/** The members of a problem details response (RFC 9457) as the service writes them. */
export interface Problem {
  readonly status: number;
  readonly code: ProblemCode;
  readonly detail: string;
  /** Finds the cause in the service's log. */
  readonly requestId?: string;
  /** The highest counter that was ever accepted, where the push's counter was refused. */
  readonly highWaterMark?: bigint;
  /** The rules that a refused snapshot breaks. */
  readonly findings?: readonly Finding[];
  /** Findings that did not fit in the response. */
  readonly omittedFindings?: number;
  /** What of the request is at fault: a query parameter, a header, or what an id in the path names. */
  readonly field?: string;
  /** What it has, cut if it is long. */
  readonly value?: string;
  /** What `value`, or `field` if there is no such field, may have been meant to be, the nearest first. */
  readonly nearest?: readonly string[];
  /** The limit that the request exceeds, in the unit that `detail` names. */
  readonly limit?: number;
  /** Roles that may send the request. */
  readonly allowedRoles?: readonly string[];
}

/**
 * The service answered, and said no.
 *
 * @example
 * ```ts
 * import { ApiError } from '@resource-map/client';
 *
 * try {
 *   await client.push(snapshot);
 * } catch (error) {
 *   if (!(error instanceof ApiError) || error.code !== 'counter_regressed') throw error;
 *   console.log(`continue above ${error.problem.highWaterMark}`);
 * }
 * ```
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: ProblemCode;
  readonly problem: Problem;
  /**
   * Whether an earlier try of the call may have been carried out: it had no response, or one of
   * 5xx. What the service refuses then may be what that try has done.
   */
  readonly possiblyApplied: boolean;
  /** How long the service asks to be left alone; 0 if it does not say. */
  readonly retryAfterMs: number;

  constructor(
    problem: Problem,
    {
      possiblyApplied = false,
      retryAfterMs = 0,
    }: { readonly possiblyApplied?: boolean; readonly retryAfterMs?: number } = {},
  ) {
    super(`[${problem.code}] ${problem.detail}`);
    this.status = problem.status;
    this.code = problem.code;
    this.problem = problem;
    this.possiblyApplied = possiblyApplied;
    this.retryAfterMs = retryAfterMs;
  }

  /** Whether the same request can succeed later: 408, 429 and 5xx. */
  get retryable(): boolean {
    return this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

/**
 * No whole response came: the connection failed, broke off, or took too long.
 *
 * @example
 * ```ts
 * import { ConnectionError } from '@resource-map/client';
 *
 * const isOutage = (error: unknown): boolean => error instanceof ConnectionError;
 * ```
 */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  /** The message without its code. */
  readonly detail: string;

  constructor(method: string, url: string, cause: unknown) {
    const detail = `${method} ${url}: ${reasonOf(cause)}`;
    super(`[connection_failed] ${detail}`, { cause });
    this.detail = detail;
  }
}

/** fetch says "fetch failed" and keeps the reason in the cause. */
function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const inner = thrown.cause instanceof Error ? thrown.cause : thrown;
  // OpenSSL's message is a line of its own source code; its reason is a phrase.
  if ('reason' in inner && typeof inner.reason === 'string' && 'library' in inner)
    return `TLS: ${inner.reason}`;
  return inner.message === '' ? inner.name : inner.message;
}

/**
 * A response with a body that cannot be what the service wrote: a proxy's page, or another service.
 *
 * @example
 * ```ts
 * import { UnexpectedResponseError } from '@resource-map/client';
 *
 * const isWrongUrl = (error: unknown): boolean => error instanceof UnexpectedResponseError;
 * ```
 */
export class UnexpectedResponseError extends Error {
  override readonly name = 'UnexpectedResponseError';

  /** The message without its code. */
  readonly detail: string;

  constructor(method: string, url: string, what: string, options?: ErrorOptions) {
    const detail = `${method} ${url}: ${what}; check that the base URL is that of a Resource Map`;
    super(`[unexpected_answer] ${detail}`, options);
    this.detail = detail;
  }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((element) => typeof element === 'string');
}

/**
 * Reads a problem details body.
 * @returns undefined if the bytes are not problem details
 */
export function parseProblem(status: number, body: Uint8Array): Problem | undefined {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
  if (typeof json !== 'object' || json === null) return undefined;
  const members = json as Record<string, unknown>;
  if (typeof members.code !== 'string') return undefined;
  return {
    status,
    code: members.code,
    detail: typeof members.detail === 'string' ? members.detail : String(members.title ?? ''),
    ...(typeof members.requestId === 'string' ? { requestId: members.requestId } : {}),
    ...(typeof members.highWaterMark === 'string' && /^\d{1,20}$/.test(members.highWaterMark)
      ? { highWaterMark: BigInt(members.highWaterMark) }
      : {}),
    ...(Array.isArray(members.findings) ? { findings: members.findings as readonly Finding[] } : {}),
    ...(typeof members.omittedFindings === 'number' ? { omittedFindings: members.omittedFindings } : {}),
    ...(typeof members.field === 'string' ? { field: members.field } : {}),
    ...(typeof members.value === 'string' ? { value: members.value } : {}),
    ...(typeof members.limit === 'number' ? { limit: members.limit } : {}),
    ...(isTexts(members.nearest) ? { nearest: members.nearest } : {}),
    ...(isTexts(members.allowedRoles) ? { allowedRoles: members.allowedRoles } : {}),
  };
}
