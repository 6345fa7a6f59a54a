/** Files that a command line names; `-` is standard input. */
import { readFile } from 'node:fs/promises';
import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import { MalformedBodyError } from '../errors.ts';
import { decodeMessage } from '../snapshot/decode.ts';
import { UsageError } from './failure.ts';

/** @throws UsageError where the file cannot be read */
export async function readInput(file: string): Promise<Uint8Array> {
  try {
    return file === '-' ? await standardInput() : await readFile(file);
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
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
  try {
    return decodeMessage(schema, bytes, 'json');
  } catch (error) {
    if (!(error instanceof MalformedBodyError)) throw error;
    throw new UsageError(`${file}: ${error.message}`, { cause: error });
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
