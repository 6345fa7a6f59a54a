/** Whatever ended a command, as the lines that a person reads and the code that a script reads. */
import { ApiError, ConnectionError, UnexpectedResponseError } from '../client/errors.ts';
import { InvalidSnapshotError } from '../core/errors.ts';
import { printable } from '../terminal/printable.ts';
import { connectionRemedy } from './connection-remedy.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { inTermsOfRmap } from './remedies.ts';

/** The command line, or a file that it names, cannot be used. The message names the file, if it is one. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  /** More lines, below the message. */
  readonly lines: readonly string[];

  constructor(
    message: string,
    { lines = [], ...options }: ErrorOptions & { lines?: readonly string[] } = {},
  ) {
    super(message, options);
    this.lines = lines;
  }
}

/** An API server of Kubernetes refused, or did not answer. */
export class ClusterUnreachableError extends Error {
  override readonly name = 'ClusterUnreachableError';
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode, cause: unknown) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}

export interface Failure {
  readonly lines: readonly string[];
  readonly exitCode: ExitCode;
}

/** Codes of a change that finds itself done already. */
const CHANGES_MISSED: ReadonlySet<string> = new Set(['grant_not_found', 'pool_changed']);

export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof UsageError)
    return { lines: [printable(thrown.message), ...thrown.lines], exitCode: EXIT.usage };
  if (thrown instanceof ApiError) {
    const reported = inTermsOfRmap(thrown);
    const { findings = [], omittedFindings = 0, requestId } = reported.problem;
    return {
      lines: [
        printable(reported.message),
        ...findingLines(findings, omittedFindings),
        ...(thrown.possiblyApplied && CHANGES_MISSED.has(thrown.code)
          ? ['  An earlier try, whose response was lost, may have done it.']
          : []),
        ...(thrown.status >= 500 && requestId !== undefined ? [`  request id ${printable(requestId)}`] : []),
      ],
      exitCode: thrown.retryable ? EXIT.unreachable : EXIT.refused,
    };
  }
  if (thrown instanceof InvalidSnapshotError) {
    const { findings = [], omittedFindings = 0 } = thrown.details;
    return {
      lines: [printable(thrown.message), ...findingLines(findings, omittedFindings)],
      exitCode: EXIT.refused,
    };
  }
  if (thrown instanceof ConnectionError || thrown instanceof UnexpectedResponseError)
    return {
      lines: [printable(thrown.message), `  ${connectionRemedy(thrown)}`],
      exitCode: EXIT.unreachable,
    };
  if (thrown instanceof ClusterUnreachableError)
    return { lines: [printable(thrown.message)], exitCode: thrown.exitCode };
  const stack = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  return {
    lines: [
      'Internal error in rmap. Please report it with this stack trace:',
      ...stack.split('\n').map(printable),
    ],
    exitCode: EXIT.fault,
  };
}

/** Prints what became of one of several files. @returns the exit code that it asks for */
export function reportFailureOf(file: string, thrown: unknown): ExitCode {
  const { lines, exitCode } = failureOf(thrown);
  const name = thrown instanceof UsageError ? '' : `${printable(file)}: `;
  process.stderr.write(`${name}${lines.join('\n')}\n`);
  return exitCode;
}

/** A finding, of ours or as it came from a service. */
interface ShownFinding {
  readonly severity: string;
  readonly code: string;
  readonly path: string;
  readonly message: string;
}

/** Options that help against a finding, by its code. */
const OPTION_HINTS: ReadonlyMap<string, string> = new Map([['counter_jump', ' (rmap push --allow-jump)']]);

/** One line a finding: severity, code, path, message. */
export function findingLines(findings: readonly ShownFinding[], omitted: number): readonly string[] {
  return [
    ...findings.map((f) =>
      printable(
        `  ${f.severity} ${f.code} ${f.path === '' ? '(snapshot)' : f.path}: ${f.message}${OPTION_HINTS.get(f.code) ?? ''}`,
      ),
    ),
    ...(omitted > 0 ? [`  … and ${omitted} more`] : []),
  ];
}
