/** Runs connectconformance against the adapter: `npm run test:connect`. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CONFORMANCE = 'connectrpc.com/conformance@v1.0.7';

/** Whether Go is here and new enough for the module. */
function hasGo(): boolean {
  try {
    const [, major, minor] =
      /go(\d+)\.(\d+)/.exec(execFileSync('go', ['version'], { encoding: 'utf8' })) ?? [];
    return Number(major) > 1 || Number(minor) >= 26;
  } catch {
    return false;
  }
}

if (!hasGo()) {
  console.log('SKIPPED: connectconformance is built with Go 1.26 or newer, which is not here.');
} else {
  const folder = mkdtempSync(join(tmpdir(), 'connect-'));
  try {
    execFileSync('go', ['install', `${CONFORMANCE.replace('@', '/cmd/connectconformance@')}`], {
      env: { ...process.env, GOBIN: folder },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const { Dir } = JSON.parse(
      execFileSync('go', ['mod', 'download', '-json', CONFORMANCE], { encoding: 'utf8' }),
    ) as { readonly Dir: string };
    const descriptors = join(folder, 'conformance.binpb');
    execFileSync('buf', ['build', join(Dir, 'proto'), '-o', descriptors], { stdio: 'inherit' });
    const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
    execFileSync(
      join(folder, 'connectconformance'),
      [
        '--mode',
        'server',
        '--conf',
        here('conformance.yaml'),
        '--',
        process.execPath,
        '--import',
        'tsx',
        here('conformance-service.ts'),
      ],
      { env: { ...process.env, CONFORMANCE_DESCRIPTORS: descriptors }, stdio: 'inherit' },
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
