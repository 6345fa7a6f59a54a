/**
 * `npm run test:kubernetes`: builds a control plane where that was not done, makes a certificate
 * authority, which Node has to know when it starts, and runs the tests.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeAuthority } from '../control-plane/control-plane.ts';

const WANTED = [1, 26];

function goVersion(): readonly number[] | undefined {
  try {
    const [, major, minor] =
      /go(\d+)\.(\d+)/.exec(execFileSync('go', ['version'], { encoding: 'utf8' })) ?? [];
    return [Number(major), Number(minor)];
  } catch {
    return undefined;
  }
}

const [major = 0, minor = 0] = goVersion() ?? [];
if (major < (WANTED[0] ?? 0) || (major === WANTED[0] && minor < (WANTED[1] ?? 0))) {
  const found = goVersion() === undefined ? 'there is no Go' : `this is Go ${major}.${minor}`;
  console.log(
    `Skipped: the agent against a real API server. Building one needs Go ${WANTED.join('.')}; ${found}.`,
  );
} else {
  const bin = build();
  if (bin !== undefined) runTests(bin);
}

/** @returns the folder of the programs, or nothing where there was no time to build them all */
function build(): string | undefined {
  const script = fileURLToPath(new URL('../control-plane/build.sh', import.meta.url));
  const minutes = process.env.CONTROL_PLANE_BUILD_MINUTES;
  const command = minutes === undefined ? ['bash', script] : ['timeout', `${minutes}m`, 'bash', script];
  const { status, stdout } = spawnSync(command[0] ?? '', command.slice(1), {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status === 0) return stdout.trim();
  // What timeout says when time is over.
  if (minutes === undefined || status !== 124) throw new Error(`${script} ended with ${status}.`);
  console.log(
    `Skipped: the agent against a real API server, which was not built in ${minutes} minutes. The next run goes on where this one ended.`,
  );
  return undefined;
}

function runTests(bin: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'resource-map-kubernetes-'));
  const ca = makeAuthority(folder);
  const { status } = spawnSync(
    process.execPath,
    [
      'node_modules/vitest/vitest.mjs',
      'run',
      '--config',
      'vitest.kubernetes.config.ts',
      ...process.argv.slice(2),
    ],
    {
      stdio: 'inherit',
      env: { ...process.env, NODE_EXTRA_CA_CERTS: ca, CONTROL_PLANE_BIN: bin, CONTROL_PLANE_FOLDER: folder },
    },
  );
  // What a failed run left says why.
  if (status === 0) rmSync(folder, { recursive: true, force: true });
  else console.log(`The logs are in ${folder}.`);
  process.exitCode = status ?? 1;
}
