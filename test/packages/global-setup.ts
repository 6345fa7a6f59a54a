/** Builds both packages, once for all files. */
import { ROOT, run } from './packed.ts';

export async function setup(): Promise<void> {
  await run('npm', ['run', '-s', 'build:packages'], { cwd: ROOT });
}
