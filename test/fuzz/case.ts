/** What a target is given. As a file it is the body itself, so that `rmap push` can send a crasher, too. */
import { basename, extname } from 'node:path';
import type { WireFormat } from '../../functions/core/snapshot/decode.ts';

export interface Case {
  readonly format: WireFormat;
  readonly bytes: Uint8Array;
}

/** Runs one case. What it throws, or rejects with, is a finding. */
export type Target = (input: Case) => void | Promise<void>;

const EXTENSIONS: Readonly<Record<WireFormat, string>> = { protobuf: '.pb', json: '.json' };

export function caseFileName(name: string, { format }: Case): string {
  return name + EXTENSIONS[format];
}

/** The format that a file's name says. @throws Error for a name that says none */
export function formatOfFile(file: string): WireFormat {
  const extension = extname(file);
  const format = (Object.keys(EXTENSIONS) as WireFormat[]).find((each) => EXTENSIONS[each] === extension);
  if (format !== undefined) return format;
  throw new Error(`${basename(file)} is no case; its name must end in .pb (Protobuf) or .json (ProtoJSON).`);
}
