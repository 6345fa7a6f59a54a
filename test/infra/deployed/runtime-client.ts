/**
 * Amazon's runtime interface client, the very program that calls the handler in Lambda's Node
 * runtime, from npm. It is no dependency of ours: its install script compiles its HTTP client
 * in C++ from sources that it fetches. Here it is installed without, and `native-client.cjs`
 * takes that client's place.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const VERSION = '4.0.2';

/** The path of its program, kept between runs; undefined where npm cannot have it. */
export async function findRuntimeClient(): Promise<string | undefined> {
  const folder = join(tmpdir(), `runtime-interface-client-${VERSION}`);
  const program = join(folder, 'node_modules', 'aws-lambda-ric', 'index.mjs');
  if (existsSync(program)) return program;
  try {
    await mkdir(folder, { recursive: true });
    await promisify(execFile)(
      'npm',
      ['install', '--ignore-scripts', '--no-save', '--no-audit', '--no-fund', `aws-lambda-ric@${VERSION}`],
      { cwd: folder, timeout: 120_000 },
    );
    return program;
  } catch {
    return undefined;
  }
}
