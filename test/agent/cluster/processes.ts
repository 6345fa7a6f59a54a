/** The service and the agent as they are shipped: processes, which can be killed and stopped. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { newToken, tokenDigest } from '../../../functions/auth/static-token.ts';
import { endsWithUs } from '../control-plane/control-plane.ts';

const dist = (file: string) => fileURLToPath(new URL(`../../../dist/${file}`, import.meta.url));
export const RMAP = dist('cli/rmap.js');

export class Program {
  readonly #command: readonly string[];
  readonly #log: string;
  #child: ChildProcess | undefined;

  constructor(log: string, command: readonly string[]) {
    this.#log = log;
    this.#command = command;
  }

  start(): void {
    const log = openSync(this.#log, 'a');
    this.#child = endsWithUs(spawn(process.execPath, this.#command, { stdio: ['ignore', log, log] }));
    closeSync(log);
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** The exit code, once it has ended by itself. */
  async ended(): Promise<number | null> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null) return child?.exitCode ?? null;
    await new Promise((resolve) => child.once('exit', resolve));
    return child.exitCode;
  }

  /** @returns the milliseconds that it took to end */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return 0;
    const started = performance.now();
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    child.kill('SIGCONT');
    const patience = setTimeout(() => child.kill('SIGKILL'), 20_000);
    await gone;
    clearTimeout(patience);
    return performance.now() - started;
  }
}

export interface Service {
  readonly url: string;
  readonly adminToken: string;
  readonly program: Program;
  ready(): Promise<void>;
}

export function serviceIn(folder: string, port: number): Service {
  const adminToken = newToken();
  const digest = tokenDigest(adminToken);
  const url = `http://127.0.0.1:${port}`;
  const program = new Program(join(folder, 'service.log'), [
    dist('local/main.js'),
    ...[
      '--port',
      String(port),
      '--data',
      join(folder, 'map'),
      '--auth',
      '--admin-token-sha256',
      digest,
      '--omit-after',
      '10m',
    ],
  ]);
  return {
    url,
    adminToken,
    program,
    async ready() {
      for (let tries = 0; ; tries++) {
        const answered = await fetch(`${url}/openapi.json`).then(
          (response) => response.ok,
          () => false,
        );
        if (answered) return;
        if (tries > 300) throw new Error(`The service does not answer; see ${folder}/service.log.`);
        await sleep(100);
      }
    },
  };
}
