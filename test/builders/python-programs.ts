/** Programs of Python's registry, in an environment of their own that is kept between runs. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The folder of the programs, or why they cannot be had. */
export type PythonPrograms = { readonly bin: string } | { readonly missing: string };

/**
 * @param requirements with their versions, as pip takes them
 * @param programs that these bring
 */
export async function pythonPrograms(
  requirements: readonly string[],
  programs: readonly string[],
): Promise<PythonPrograms> {
  const name = createHash('sha256').update(requirements.join()).digest('hex').slice(0, 16);
  const folder = join(tmpdir(), `python-programs-${name}`);
  const bin = join(folder, 'bin');
  const isThere = (): boolean => programs.every((program) => existsSync(join(bin, program)));
  if (isThere()) return { bin };
  try {
    await run('python3', ['-m', 'venv', folder], { timeout: 120_000 });
    await run(join(bin, 'pip'), ['install', '--quiet', ...requirements], { timeout: 300_000 });
  } catch (error) {
    return { missing: error instanceof Error ? error.message.trim() : String(error) };
  }
  if (isThere()) return { bin };
  throw new Error(`${requirements.join(' and ')} did not bring ${programs.join(' and ')}.`);
}
