/** Files that a command line names; `-` is standard input. */
import { readFile } from 'node:fs/promises';
import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import { ResourceMapError } from '../core/errors.ts';
import { decodeMessage } from '../core/snapshot/decode.ts';
import { findingLines, UsageError } from './failure.ts';

/** @throws UsageError that names the file, where it cannot be read or is empty */
export async function readInput(file: string): Promise<Uint8Array> {
  const bytes = await (file === '-' ? standardInput() : readNamed(file));
  if (bytes.length > 0) return bytes;
  throw new UsageError(file === '-' ? 'Standard input is empty.' : `${file} is empty.`);
}

/** Reads a file whole. @throws UsageError that names it, where it cannot be read */
export async function readNamed(file: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (cause) {
    throw new UsageError(`${file} cannot be read: ${systemReason(cause)}`, { cause });
  }
}

/** What the system has against a file, without the file's name and the call, which Node puts behind it. */
export function systemReason(cause: unknown): string {
  const { message, syscall } = cause as NodeJS.ErrnoException;
  const call = syscall === undefined ? -1 : message.indexOf(`, ${syscall}`);
  return call === -1 ? message : message.slice(0, call);
}

async function standardInput(): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks);
}

/**
 * The message that a file holds in ProtoJSON.
 *
 * @throws UsageError that names the file, where it holds none
 */
export function messageOf<Desc extends DescMessage>(
  schema: Desc,
  file: string,
  bytes: Uint8Array,
): MessageShape<Desc> {
  return decodedFrom(file, () => decodeMessage(schema, bytes, 'json'));
}

/** What is decoded from a file. @throws UsageError that names the file, with all that is wrong in it */
export function decodedFrom<T>(file: string, decode: () => T): T {
  try {
    return decode();
  } catch (cause) {
    if (!(cause instanceof ResourceMapError)) throw cause;
    const { findings = [], omittedFindings = 0 } = cause.details;
    throw new UsageError(`${file}: ${cause.message}`, {
      cause,
      lines: findingLines(findings, omittedFindings),
    });
  }
}

/** Whether the file is a JSON object with any of these names. What is no JSON at all is for a decoder to say. */
export function hasAnyName(bytes: Uint8Array, names: readonly string[]): boolean {
  try {
    const json: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    return typeof json === 'object' && json !== null && names.some((name) => Object.hasOwn(json, name));
  } catch {
    return false;
  }
}
