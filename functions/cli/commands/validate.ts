import { create, toJson } from '@bufbuild/protobuf';
import { Command } from 'commander';
import type { Findings } from '../../core/findings.ts';
import { checkSnapshot } from '../../core/snapshot/rules/index.ts';
import { FindingSchema, ValidateResultSchema } from '../../gen/resourcemap/v1/service_pb.ts';
import { printable } from '../../terminal/printable.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { findingLines, reportFailureOf } from '../failure.ts';
import { problemLine, resultLine } from '../file-result.ts';
import { print } from '../print.ts';
import { readSnapshotFile } from '../snapshot-file.ts';

interface ValidateOptions {
  readonly strict: boolean;
  readonly json: boolean;
}

export function validateCommand(): Command {
  return new Command('validate')
    .description('check snapshots against the rule book, without a service')
    .argument('<file...>', 'snapshots in ProtoJSON or Protobuf, gzip or plain; - is standard input')
    .option('--strict', 'treat warnings as errors', false)
    .option('--json', 'print JSON for programs, one line a file, instead of text for people', false)
    .addHelpText(
      'after',
      '\n--json prints {"file", "valid", "findings", "omittedFindings"} for each file, and\n{"file", "valid": false, "problem": {"code", "detail", …}} for one that holds no snapshot.',
    )
    .action(async (files: readonly string[], options: ValidateOptions) => {
      let worst: ExitCode = EXIT.ok;
      for (const file of files) worst = Math.max(worst, await validateFile(file, options)) as ExitCode;
      process.exitCode = worst;
    });
}

/** Checks one file and prints what was found; one that is refused does not keep the others from being checked. */
async function validateFile(file: string, { strict, json }: ValidateOptions): Promise<ExitCode> {
  try {
    const snapshot = await readSnapshotFile(file);
    const found = checkSnapshot(snapshot, { nowMs: Date.now(), strict });
    if (json) print(jsonLine(file, found));
    else for (const line of textLines(file, found)) print(line);
    return found.rejects === 0 ? EXIT.ok : EXIT.refused;
  } catch (error) {
    if (json) print(problemLine(file, error, { valid: false }));
    return reportFailureOf(file, error);
  }
}

function verdict({ rejects, warnings }: Findings): string {
  const warned = warnings === 0 ? '' : `, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`;
  if (rejects === 0) return `valid${warned}`;
  return `refused for ${rejects} ${rejects === 1 ? 'reason' : 'reasons'}${warned}`;
}

function textLines(file: string, found: Findings): readonly string[] {
  return [`${printable(file)}: ${verdict(found)}`, ...findingLines(found.findings, found.omitted)];
}

function jsonLine(file: string, { findings, omitted, rejects }: Findings): string {
  const result = create(ValidateResultSchema, {
    valid: rejects === 0,
    findings: findings.map((finding) => create(FindingSchema, finding)),
    omittedFindings: omitted,
  });
  return resultLine(file, toJson(ValidateResultSchema, result, { alwaysEmitImplicit: true }));
}
