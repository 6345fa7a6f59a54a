/** What became of one of several files, as a line that a program reads. */
import type { JsonValue } from '@bufbuild/protobuf';
import { ApiError, ConnectionError, type ProblemCode, UnexpectedResponseError } from '../client/errors.ts';
import { ResourceMapError } from '../core/errors.ts';
import type { Finding } from '../core/findings.ts';
import { UsageError } from './failure.ts';
import { inTermsOfRmap } from './remedies.ts';

/** Why a file has no result; members that there are none of are left out. */
interface FileProblem {
  /** That of the service, or `usage`, `connection_failed`, `unexpected_answer` and `fault` for what it did not say. */
  readonly code: ProblemCode | 'usage' | 'connection_failed' | 'unexpected_answer' | 'fault';
  readonly detail: string;
  readonly findings?: readonly Finding[];
  readonly omittedFindings?: number;
  /** 64 bits, so a string, as in ProtoJSON. */
  readonly highWaterMark?: string;
  readonly requestId?: string;
}

/** A result in ProtoJSON with the name of its file in front. */
export function resultLine(file: string, result: JsonValue): string {
  return JSON.stringify({ file, ...(result as object) });
}

/** @param more members beside the problem */
export function problemLine(file: string, thrown: unknown, more: object = {}): string {
  return JSON.stringify({ file, ...more, problem: problemOf(thrown) });
}

function problemOf(thrown: unknown): FileProblem {
  if (thrown instanceof ApiError) {
    const { code, detail, findings, omittedFindings, highWaterMark, requestId } =
      inTermsOfRmap(thrown).problem;
    return {
      code,
      detail,
      ...(findings === undefined ? {} : { findings }),
      ...(omittedFindings === undefined ? {} : { omittedFindings }),
      ...(highWaterMark === undefined ? {} : { highWaterMark: String(highWaterMark) }),
      ...(requestId === undefined ? {} : { requestId }),
    };
  }
  const ours = thrown instanceof UsageError ? thrown.cause : thrown;
  if (ours instanceof ResourceMapError) {
    const { findings, omittedFindings } = ours.details;
    return {
      code: ours.code,
      detail: ours.detail,
      ...(findings === undefined ? {} : { findings }),
      ...(omittedFindings === undefined ? {} : { omittedFindings }),
    };
  }
  if (thrown instanceof UsageError) return { code: 'usage', detail: thrown.message };
  if (thrown instanceof ConnectionError) return { code: 'connection_failed', detail: thrown.detail };
  if (thrown instanceof UnexpectedResponseError) return { code: 'unexpected_answer', detail: thrown.detail };
  return { code: 'fault', detail: thrown instanceof Error ? thrown.message : String(thrown) };
}
