/** RFC 9457 problem details: how every error is answered. */
import type { Context } from 'hono';
import type { ResourceMapError } from '../errors.ts';
import { PROBLEMS } from './status.ts';

/** Answers with a problem; its cause stays here. */
export function problemResponse(c: Context, error: ResourceMapError): Response {
  const { status, title } = PROBLEMS[error.code];
  const { highWaterMark, findings, omittedFindings, retryAfterSeconds, allow } = error.details;
  const body = {
    type: `urn:resource-map:problem:${error.code}`,
    title,
    status,
    detail: error.detail,
    instance: c.req.path,
    code: error.code,
    requestId: c.get('requestId'),
    // As everywhere on the wire, 64-bit integers are strings.
    ...(highWaterMark === undefined ? {} : { highWaterMark: String(highWaterMark) }),
    ...(findings === undefined ? {} : { findings }),
    ...(omittedFindings === undefined ? {} : { omittedFindings }),
  };
  const headers: Record<string, string> = { 'content-type': 'application/problem+json' };
  if (retryAfterSeconds !== undefined) headers['retry-after'] = String(retryAfterSeconds);
  if (allow !== undefined) headers.allow = allow.join(', ');
  return c.body(JSON.stringify(body), status, headers);
}
