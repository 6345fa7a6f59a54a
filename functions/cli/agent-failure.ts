/** What can end the commands that read a cluster, in terms of the command line. */

import { printable } from '../terminal/printable.ts';
import { EXIT } from './exit-codes.ts';
import { ClusterUnreachableError, UsageError } from './failure.ts';

/** By name: the classes are in modules that only those commands load. */
const USAGE: ReadonlySet<string> = new Set(['KubeconfigError', 'DumpError', 'ClusterIdMissingError']);

/** @returns what to throw for what was thrown */
export function agentFailure(thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return thrown;
  if (USAGE.has(thrown.name)) return new UsageError(thrown.message, { cause: thrown });
  if (thrown.name === 'SettingsError') {
    const faults = 'faults' in thrown && Array.isArray(thrown.faults) ? thrown.faults : [];
    return new UsageError(thrown.message, {
      cause: thrown,
      lines: faults.map((fault) => printable(`  ${fault}`)),
    });
  }
  if (thrown.name === 'KubeConnectionError')
    return new ClusterUnreachableError(
      `The API server does not answer: ${thrown.message}`,
      EXIT.unreachable,
      thrown,
    );
  if (thrown.name === 'KubeApiError')
    return new ClusterUnreachableError(`The API server refused: ${thrown.message}`, EXIT.refused, thrown);
  return thrown;
}
