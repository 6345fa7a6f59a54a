/** What a script can tell from rmap's exit code. Of several files the highest counts. */
export const EXIT = {
  ok: 0,
  /** The service, or a rule, said no: the same again is refused again. */
  refused: 1,
  /** The command line, or a file that it names, cannot be used. */
  usage: 2,
  /** The service did not answer, or cannot at the moment: the same again may succeed. */
  unreachable: 3,
  /** rmap itself failed. */
  fault: 4,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The table as `rmap --help` shows it. */
export const EXIT_CODES_TEXT = `Exit codes:
  0  done
  1  the service, or a rule, said no
  2  the command line, or a file that it names, cannot be used
  3  the service did not answer, or cannot at the moment
  4  rmap itself failed`;
