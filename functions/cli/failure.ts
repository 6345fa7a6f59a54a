/** Whatever ended a command, as the lines that a person reads and the code that a script reads. */
import { ApiError, ConnectionError, UnexpectedAnswerError } from '../client/errors.ts';
import { ResourceMapError } from '../errors.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { printable } from './printable.ts';

/** The command line, or a file that it names, cannot be used. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export interface Failure {
  readonly lines: readonly string[];
  readonly exitCode: ExitCode;
}

export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof UsageError) return { lines: [printable(thrown.message)], exitCode: EXIT.usage };
  if (thrown instanceof ApiError) {
    const { findings = [], omittedFindings = 0, requestId } = thrown.problem;
    return {
      lines: [
        printable(thrown.message),
        ...findingLines(findings, omittedFindings),
        ...(thrown.problem.code === 'unauthenticated'
          ? ['  --token-file, RMAP_TOKEN_FILE or RMAP_TOKEN gives rmap one.']
          : []),
        ...(thrown.status >= 500 && requestId !== undefined ? [`  request id ${printable(requestId)}`] : []),
      ],
      exitCode: EXIT.refused,
    };
  }
  if (thrown instanceof ResourceMapError) {
    const { findings = [], omittedFindings = 0 } = thrown.details;
    return {
      lines: [printable(thrown.message), ...findingLines(findings, omittedFindings)],
      exitCode: EXIT.refused,
    };
  }
  if (thrown instanceof ConnectionError) {
    return {
      lines: [
        printable(thrown.message),
        '  Is the service running? npm start starts one; --url or RMAP_URL names another.',
      ],
      exitCode: EXIT.unreachable,
    };
  }
  if (thrown instanceof UnexpectedAnswerError)
    return { lines: [printable(thrown.message)], exitCode: EXIT.unreachable };
  throw thrown;
}

/** A finding, of ours or as it came from a service. */
interface ShownFinding {
  readonly severity: string;
  readonly code: string;
  readonly path: string;
  readonly message: string;
}

/** One line a finding: severity, code, path, message. */
export function findingLines(findings: readonly ShownFinding[], omitted: number): readonly string[] {
  return [
    ...findings.map((f) =>
      printable(`  ${f.severity} ${f.code} ${f.path === '' ? '(snapshot)' : f.path}: ${f.message}`),
    ),
    ...(omitted > 0 ? [`  … and ${omitted} more`] : []),
  ];
}
