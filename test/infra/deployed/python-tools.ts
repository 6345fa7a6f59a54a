/** moto, which stands for AWS's control plane, and cfn-lint: Python's, in an environment of their own. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const MOTO = 'moto[server]==5.2.5';
const CFN_LINT = 'cfn-lint==1.58.0';

const run = promisify(execFile);

export type PythonTools = { readonly bin: string } | { readonly missing: string };

/** The folder of their programs, kept between runs, or why they cannot be had. */
export async function findPythonTools(): Promise<PythonTools> {
  const folder = join(tmpdir(), 'deploy-tools-moto-5.2.5-cfn-lint-1.58.0');
  const bin = join(folder, 'bin');
  if (existsSync(join(bin, 'moto_server')) && existsSync(join(bin, 'cfn-lint'))) return { bin };
  try {
    await run('python3', ['-m', 'venv', folder], { timeout: 120_000 });
    await run(join(bin, 'pip'), ['install', '--quiet', MOTO, CFN_LINT], { timeout: 300_000 });
    return { bin };
  } catch (error) {
    return { missing: error instanceof Error ? error.message.trim() : String(error) };
  }
}
