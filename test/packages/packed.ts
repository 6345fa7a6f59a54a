/** The tarballs of both packages, and empty projects that install them. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const run = promisify(execFile);
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The folder that a package was built into. */
export function folderOf(name: 'client' | 'rmap'): string {
  return join(ROOT, 'dist/packages', name);
}

/** Packs a package. @returns the path of its tarball */
export async function pack(name: 'client' | 'rmap', to: string): Promise<string> {
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', to], { cwd: folderOf(name) });
  const [packed] = JSON.parse(stdout) as readonly { readonly filename: string }[];
  return join(to, packed?.filename ?? '');
}

/** A project that has nothing but these packages. @returns its folder */
export async function emptyProject(...packages: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'resource-map-project-'));
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'empty', type: 'module', private: true }),
  );
  await run(
    'npm',
    ['install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', ...packages],
    {
      cwd: folder,
    },
  );
  return folder;
}
