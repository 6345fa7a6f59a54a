import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { toJson } from '@bufbuild/protobuf';
import { Command } from 'commander';
import type { Client } from '../../client/client.ts';
import { ApiError } from '../../client/errors.ts';
import { InvalidSnapshotError } from '../../core/errors.ts';
import { clusterIdFault } from '../../core/snapshot/rules/ids.ts';
import { checkSnapshot } from '../../core/snapshot/rules/index.ts';
import type { ClusterResourceMap } from '../../gen/resourcemap/v1/resource_map_pb.ts';
import { PushOutcome, type PushResult, PushResultSchema } from '../../gen/resourcemap/v1/service_pb.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { findingLines, reportFailureOf, UsageError } from '../failure.ts';
import { problemLine, resultLine } from '../file-result.ts';
import { clientOf, type GlobalOptions, withGlobalOptions } from '../global-options.ts';
import { print } from '../print.ts';
import { printable } from '../printable.ts';
import { readSnapshotFile } from '../snapshot-file.ts';

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
      .option('--bump', 'where a counter is refused, go on above the high-water mark', false)
      .option('--strict', 'refuse what would give a warning', false)
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
    for (const file of files) worst = Math.max(worst, await pushFile(client, file, options)) as ExitCode;
    if (options.watch) await watchFiles(client, versions, options);
    process.exitCode = worst;
  });
}

/** Pushes one file and tells the outcome; a file that is refused does not keep the others from being pushed. */
async function pushFile(client: Client, file: string, options: PushOptions): Promise<ExitCode> {
  try {
    const snapshot = await readSnapshotFile(file);
    refuseWithoutCluster(snapshot, options.strict);
    const result = await client.push(snapshot, {
      strict: options.strict,
      allowJump: options.allowJump,
      ...(options.bump ? { onCounterConflict: (mark: bigint) => mark + 1n } : {}),
    });
    if (options.json) print(resultLine(file, toJson(PushResultSchema, result, { alwaysEmitImplicit: true })));
    else for (const line of outcomeLines(file, result)) print(line);
    return EXIT.ok;
  } catch (error) {
    if (options.json) print(problemLine(file, error));
    const exitCode = reportFailureOf(file, error);
    if (!options.bump && isCounterConflict(error))
      process.stderr.write('  --bump goes on above the high-water mark.\n');
    return exitCode;
  }
}

/** Without the id of a cluster there is no URL to push to, and so no service that could say what is missing. */
function refuseWithoutCluster(snapshot: ClusterResourceMap, strict: boolean): void {
  if (clusterIdFault(snapshot.cluster?.clusterId ?? '') === undefined) return;
  const { findings, rejects, omitted } = checkSnapshot(snapshot, { nowMs: Date.now(), strict });
  throw new InvalidSnapshotError(findings, rejects, omitted);
}

function isCounterConflict(error: unknown): boolean {
  return error instanceof ApiError && error.problem.highWaterMark !== undefined;
}

function outcomeLines(file: string, result: PushResult): readonly string[] {
  return [
    printable(`${file}: ${PushOutcome[result.outcome]} ${result.clusterId} at ${result.logicalCounter}`),
    ...findingLines(result.warnings, result.omittedWarnings),
  ];
}

/** A file that is written in several steps is whole by the second look. */
const POLL_MS = 500;

/**
 * Looks at the files again and again: a notification would follow the old file where a new
 * one is renamed over it, which is how agents and editors replace a file whole.
 *
 * @param versions that were pushed already
 */
async function watchFiles(client: Client, versions: Versions, options: PushOptions): Promise<void> {
  const files = [...versions.keys()];
  process.stderr.write(
    `Watching ${files.length === 1 ? 'the file' : `${files.length} files`}; Ctrl-C ends it.\n`,
  );
  const pushed = new Map(versions);
  const seen = new Map(pushed);
  for (;;) {
    await sleep(POLL_MS);
    for (const file of files) {
      const version = await versionOf(file);
      const settled = version !== undefined && version === seen.get(file);
      seen.set(file, version);
      if (!settled || version === pushed.get(file)) continue;
      pushed.set(file, version);
      await pushFile(client, file, options);
    }
  }
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
