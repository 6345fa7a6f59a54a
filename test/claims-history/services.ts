/** Service processes that are killed and started again, and requests to any of them whose responses get lost. */
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ScaledTime } from './scaled-time.ts';
import type { ServiceRole } from './service-process.ts';

const SCRIPT = fileURLToPath(new URL('./service-process.ts', import.meta.url));

/** Scaled milliseconds: clocks of two processes differ by twice that, the most that is promised. */
const MAX_OFFSET_MS = 2_400;

interface Running {
  readonly child: ChildProcess;
  readonly url: string;
}

export interface Response {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: the history says what it expects of it.
  readonly body: any;
}

export interface ServicesOptions {
  readonly endpoint: string;
  readonly time: ScaledTime;
  /** For the test of the test: a write takes what others wrote since it read. */
  readonly losesWrites: boolean;
  readonly random: () => number;
}

export class Services {
  readonly #running: (Running | undefined)[] = [];
  #closed = false;
  requests = 0;
  lost = 0;
  kills = 0;

  private constructor(private readonly options: ServicesOptions) {}

  static async start(options: ServicesOptions, processes: number): Promise<Services> {
    const services = new Services(options);
    // One after the other: the first makes the tables.
    for (let index = 0; index < processes; index++) services.#running[index] = await services.#spawn(index);
    return services;
  }

  /** Kills one, wherever it is, and starts it again. */
  async kill(): Promise<void> {
    const index = Math.floor(this.options.random() * this.#running.length);
    const running = this.#running[index];
    if (running === undefined) return;
    this.#running[index] = undefined;
    running.child.kill('SIGKILL');
    this.kills++;
    const again = await this.#spawn(index);
    if (this.#closed) again.child.kill('SIGKILL');
    else this.#running[index] = again;
  }

  close(): void {
    this.#closed = true;
    for (const running of this.#running) running?.child.kill('SIGKILL');
  }

  /**
   * @param loses share of responses that get lost, of requests that are carried out or not
   * @returns absent: nobody knows whether it was carried out
   */
  async once(
    method: string,
    path: string,
    body: unknown,
    { loses = 0, headers = {} }: { loses?: number; headers?: Record<string, string> } = {},
  ): Promise<Response | undefined> {
    const up = this.#running.filter((one) => one !== undefined);
    const { url } = up[Math.floor(this.options.random() * up.length)] ?? {};
    if (url === undefined) {
      await sleep(50);
      return undefined;
    }
    this.requests++;
    const isLost = this.options.random() < loses;
    const isCut = isLost && this.options.random() < 0.5;
    try {
      const response = await fetch(url + path, {
        method,
        headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(isCut ? 1 + Math.floor(this.options.random() * 20) : 30_000),
      });
      const text = await response.text();
      if (isLost) {
        this.lost++;
        return undefined;
      }
      const { status } = response;
      return { status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
    } catch {
      this.lost++;
      return undefined;
    }
  }

  /** Sends it until there is a response that says something. */
  async until(
    method: string,
    path: string,
    body: unknown,
    options: { loses?: number; headers?: Record<string, string> } = {},
    attempts = 200,
  ): Promise<Response> {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const response = await this.once(method, path, body, options);
      if (response !== undefined && response.status < 500) return response;
      await sleep(20 * this.options.random());
    }
    throw new Error(`${method} ${path} had no response in ${attempts} attempts.`);
  }

  async #spawn(index: number): Promise<Running> {
    const offsetMs = Math.round(MAX_OFFSET_MS * (index % 2 === 0 ? 1 : -1) * this.options.random());
    const { endpoint, time, losesWrites } = this.options;
    const role: ServiceRole = { endpoint, time, offsetMs, losesWrites };
    const child = spawn(process.execPath, ['--import', 'tsx', SCRIPT, JSON.stringify(role)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      // The SDK tells every process on Node 20 that its future versions want a newer one.
      env: { ...process.env, AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' },
    });
    let said = '';
    for await (const chunk of child.stdout ?? []) {
      said += chunk;
      if (said.includes('\n')) break;
    }
    if (!said.includes('\n')) throw new Error('A service process ended before it was up.');
    // However this process ends, it leaves none behind.
    process.once('exit', () => child.kill('SIGKILL'));
    return { child, url: (JSON.parse(said) as { url: string }).url };
  }
}
