/** Cases on disk: what a run starts from, and what it keeps for the next one. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromJsonString, toBinary, toJsonString } from '@bufbuild/protobuf';
import { ClusterResourceMapSchema } from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { type Case, caseFileName, formatOfFile } from './case.ts';

/** Real snapshots, in ProtoJSON. */
export const SEED_FOLDERS = ['test/data/snapshots', 'functions/local/samples'] as const;

/** Every real snapshot in both formats. @param root of the project */
export function seeds(root: string): Case[] {
  return SEED_FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder))
      // The series of the samples are in a folder of their own, in another format.
      .filter((file) => file.endsWith('.json'))
      .sort()
      .flatMap((file) => readSeed(join(root, folder, file))),
  );
}

/** A snapshot in ProtoJSON: in Protobuf, and as it is. */
export function readSeed(file: string): [Case, Case] {
  const snapshot = fromJsonString(ClusterResourceMapSchema, readFileSync(file, 'utf8'));
  return [
    { format: 'protobuf', bytes: toBinary(ClusterResourceMapSchema, snapshot) },
    // Without the white space, which would be most of what a mutation hits.
    { format: 'json', bytes: Buffer.from(toJsonString(ClusterResourceMapSchema, snapshot)) },
  ];
}

/** The cases in a folder, by the names of their files; none where there is no folder. */
export function readCases(folder: string): Map<string, Case> {
  const cases = new Map<string, Case>();
  let files: string[];
  try {
    files = readdirSync(folder).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return cases;
    throw error;
  }
  for (const file of files) cases.set(file, readCase(join(folder, file)));
  return cases;
}

export function readCase(file: string): Case {
  return { format: formatOfFile(file), bytes: readFileSync(file) };
}

/** Writes a case under its digest. @returns the file */
export function saveCase(folder: string, prefix: string, input: Case): string {
  mkdirSync(folder, { recursive: true });
  const digest = createHash('sha256').update(input.bytes).digest('hex').slice(0, 16);
  const file = join(folder, caseFileName(`${prefix}${digest}`, input));
  writeFileSync(file, input.bytes);
  return file;
}
