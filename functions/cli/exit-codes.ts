/** What a script can tell from rmap's exit code. */
export const EXIT = {
  ok: 0,
  /** The service, or a rule, said no. */
  refused: 1,
  /** The command line, or a file that it names, cannot be used. */
  usage: 2,
  /** The service did not answer. */
  unreachable: 3,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
