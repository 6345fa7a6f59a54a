/** Node 24, which runs the functions, where the tests themselves run on an older one. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const MAJOR = 24;

/** The path of a Node 24: this one, or the one that npm has; undefined where there is neither. */
export async function findNode24(): Promise<string | undefined> {
  if (process.versions.node.startsWith(`${MAJOR}.`)) return process.execPath;
  try {
    const { stdout } = await promisify(execFile)('npx', ['-y', `node@${MAJOR}`, '-p', 'process.execPath'], {
      timeout: 120_000,
    });
    return stdout.trim();
  } catch {
    return undefined;
  }
}
