import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { toJson } from '@bufbuild/protobuf';
import { Command } from 'commander';
import type { Client } from '../../client/client.ts';
import { ApiError } from '../../client/errors.ts';
import { InvalidSnapshotError } from '../../core/errors.ts';
import { nextCounter } from '../../core/snapshot/next-counter.ts';
import { clusterIdFault } from '../../core/snapshot/rules/ids.ts';
import { checkSnapshot } from '../../core/snapshot/rules/index.ts';
import type { ClusterResourceMap } from '../../gen/resourcemap/v1/resource_map_pb.ts';
import { PushOutcome, type PushResult, PushResultSchema } from '../../gen/resourcemap/v1/service_pb.ts';
import { printable } from '../../terminal/printable.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { findingLines, reportFailureOf, UsageError } from '../failure.ts';
import { problemLine, resultLine } from '../file-result.ts';
import { clientOf, type GlobalOptions, withGlobalOptions } from '../global-options.ts';
import { print } from '../print.ts';
import { readSnapshotFile } from '../snapshot-file.ts';
import { TokenFileError } from '../token-file.ts';

interface PushOptions extends GlobalOptions {
  readonly watch: boolean;
  readonly bump: boolean;
  readonly strict: boolean;
  readonly allowJump: boolean;
}

export function pushCommand(): Command {
  return withGlobalOptions(
    new Command('push')
      .description('push snapshots, each to the cluster that it names')
      .argument('<file...>', 'snapshots in ProtoJSON or Protobuf, gzip or plain; - is standard input')
      .option('-w, --watch', 'push a file again whenever it changes', false)
      .option('--bump', 'on a counter conflict, retry with high-water mark + 1', false)
      .option('--strict', 'treat warnings as errors', false)
      .option('--allow-jump', 'let a counter rise by more than 2^53', false)
      .addHelpText(
        'after',
        '\n--json prints a line for each file: {"file", …} with the members of a PushResult, or\n{"file", "problem": {"code", "detail", "findings", …}} for one that was not pushed.',
      ),
  ).action(async (files: readonly string[], options: PushOptions) => {
    if (options.watch && files.includes('-'))
      throw new UsageError('Standard input cannot be watched; name a file.');
    const client = clientOf(options);
    // Before a file is read: what is written while it is pushed is pushed next.
    const versions = await versionsOf(files);
    let worst: ExitCode = EXIT.ok;
    const unsent = new Set<string>();
    for (const file of files) {
      const { exitCode, sendAgain } = await pushFile(client, file, options);
      worst = Math.max(worst, exitCode) as ExitCode;
      if (sendAgain) unsent.add(file);
    }
    if (options.watch) await watchFiles(client, versions, unsent, options);
    process.exitCode = worst;
  });
}

interface Pushed {
  readonly exitCode: ExitCode;
  /** Whether the same file can be accepted later: the service was away, or did not take the token. */
  readonly sendAgain: boolean;
}

/** Pushes one file and prints the outcome; a file that is refused does not keep the others from being pushed. */
async function pushFile(client: Client, file: string, options: PushOptions): Promise<Pushed> {
  try {
    const snapshot = await readSnapshotFile(file);
    refuseWithoutCluster(snapshot, options.strict);
    const result = await client.push(snapshot, {
      strict: options.strict,
      allowJump: options.allowJump,
      ...(options.bump ? { onCounterConflict: nextCounter } : {}),
    });
    if (options.json) print(resultLine(file, toJson(PushResultSchema, result, { alwaysEmitImplicit: true })));
    else for (const line of outcomeLines(file, result)) print(line);
    return { exitCode: EXIT.ok, sendAgain: false };
  } catch (error) {
    if (options.json) print(problemLine(file, error));
    const exitCode = reportFailureOf(file, error);
    if (!options.bump && hasNextCounter(error))
      process.stderr.write('  --bump goes on above the high-water mark.\n');
    return { exitCode, sendAgain: canSucceedLater(error, exitCode) };
  }
}

/** Without the id of a cluster there is no URL to push to, and so no service that could say what is missing. */
function refuseWithoutCluster(snapshot: ClusterResourceMap, strict: boolean): void {
  if (clusterIdFault(snapshot.cluster?.clusterId ?? '') === undefined) return;
  const { findings, rejects, omitted } = checkSnapshot(snapshot, { nowMs: Date.now(), strict });
  throw new InvalidSnapshotError(findings, rejects, omitted);
}

/** What a service says of the snapshot itself it will say again. Tokens are renewed, and permissions given. */
function canSucceedLater(error: unknown, exitCode: ExitCode): boolean {
  if (exitCode === EXIT.unreachable || error instanceof TokenFileError) return true;
  return error instanceof ApiError && (error.status === 401 || error.status === 403);
}

/** Whether a counter was refused that --bump would raise. */
function hasNextCounter(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  const { highWaterMark } = error.problem;
  return highWaterMark !== undefined && nextCounter(highWaterMark) !== undefined;
}

function outcomeLines(file: string, result: PushResult): readonly string[] {
  return [
    printable(`${file}: ${PushOutcome[result.outcome]} ${result.clusterId} at ${result.logicalCounter}`),
    ...findingLines(result.warnings, result.omittedWarnings),
  ];
}

/** A file that is written in several steps is whole by the second look. */
const POLL_MS = 500;

/** Between two tries of a file that the service did not take. */
const RETRY = { baseMs: 1_000, capMs: 30_000 };

interface WatchedFile {
  /** The version that the service has taken, or has refused for what it says. */
  settled: string | undefined;
  seen: string | undefined;
  failures: number;
  notBeforeMs: number;
}

/**
 * Looks at the files again and again: a notification would follow the old file where a new
 * one is renamed over it, which is how agents and editors replace a file whole. A change that
 * is made while the service is away is sent once it is back, in the newest state of the file.
 * A file that nobody touches is never sent twice: that would hide a collector that died.
 *
 * @param versions that were sent already
 * @param unsent those of them that are to be sent again
 */
async function watchFiles(
  client: Client,
  versions: Versions,
  unsent: ReadonlySet<string>,
  options: PushOptions,
): Promise<void> {
  process.stderr.write(
    `Watching ${versions.size === 1 ? 'the file' : `${versions.size} files`}; Ctrl-C ends it.\n`,
  );
  const watched = new Map<string, WatchedFile>();
  for (const [file, version] of versions) {
    const failed = unsent.has(file);
    watched.set(file, {
      settled: failed ? undefined : version,
      seen: version,
      failures: failed ? 1 : 0,
      notBeforeMs: failed ? Date.now() + retryMs(1) : 0,
    });
  }
  for (;;) {
    await sleep(POLL_MS);
    for (const [file, state] of watched) {
      const version = await versionOf(file);
      const whole = version !== undefined && version === state.seen;
      state.seen = version;
      if (!whole || version === state.settled || Date.now() < state.notBeforeMs) continue;
      const { sendAgain } = await pushFile(client, file, options);
      if (!sendAgain) state.settled = version;
      state.failures = sendAgain ? state.failures + 1 : 0;
      state.notBeforeMs = sendAgain ? Date.now() + retryMs(state.failures) : 0;
    }
  }
}

function retryMs(failures: number): number {
  return (0.5 + Math.random() / 2) * Math.min(RETRY.capMs, RETRY.baseMs * 2 ** Math.min(failures - 1, 10));
}

/** By file; nothing while there is none. */
type Versions = ReadonlyMap<string, string | undefined>;

async function versionsOf(files: readonly string[]): Promise<Versions> {
  return new Map(await Promise.all(files.map(async (file) => [file, await versionOf(file)] as const)));
}

/** What changes whenever a file is written or replaced; nothing while there is no file. */
async function versionOf(file: string): Promise<string | undefined> {
  try {
    const { ino, size, mtimeMs } = await stat(file);
    return `${ino} ${size} ${mtimeMs}`;
  } catch {
    return undefined;
  }
}
