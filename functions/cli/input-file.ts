/** Files that a command line names; `-` is standard input. */
import { readFile } from 'node:fs/promises';
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

/** Whether the file is a JSON object with any of these names. What is no JSON at all is for a decoder to say. */
export function hasAnyName(bytes: Uint8Array, names: readonly string[]): boolean {
  try {
    const json: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    return typeof json === 'object' && json !== null && names.some((name) => Object.hasOwn(json, name));
  } catch {
    return false;
  }
}
