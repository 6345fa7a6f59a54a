/** Runs rmap as it is shipped: a real process, as a person or a script starts it. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const RMAP = fileURLToPath(new URL('../../dist/cli/rmap.js', import.meta.url));

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * @param url of the service, as RMAP_URL gives it
 * @param variables of the environment, beside that
 */
export function runRmap(
  args: readonly string[],
  url: string,
  stdin = '',
  variables: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [RMAP, ...args],
      { env: { ...process.env, RMAP_URL: url, ...variables } },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
    child.stdin?.end(stdin);
  });
}
