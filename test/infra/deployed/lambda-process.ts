/**
 * One execution environment of a Lambda function: a process of Node 24 with Amazon's runtime
 * interface client, and the Runtime API that it talks to, as the developer guide has it
 * ("Using the Lambda runtime API for custom runtimes").
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

const NATIVE_CLIENT = fileURLToPath(new URL('native-client.cjs', import.meta.url));

export interface LambdaOptions {
  readonly node: string;
  readonly runtimeClient: string;
  readonly functionName: string;
  /** As in the template. */
  readonly handler: string;
  readonly taskRoot: string;
  readonly memoryMb: number;
  readonly timeoutSeconds: number;
  /** The function's own, and where the services are. */
  readonly environment: Readonly<Record<string, string>>;
}

/** What a function threw. */
export class FunctionError extends Error {
  override readonly name = 'FunctionError';

  constructor(
    readonly errorType: string,
    message: string,
    readonly trace: readonly string[],
  ) {
    super(`${errorType}: ${message}`);
  }
}

interface Invocation {
  readonly id: string;
  readonly event: string;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class LambdaProcess {
  readonly #waiting: Invocation[] = [];
  readonly #running = new Map<string, Invocation>();
  #poll: ServerResponse | undefined;
  #server: Server | undefined;
  #process: ChildProcess | undefined;
  #log = '';
  #ended: Error | undefined;

  private constructor(private readonly options: LambdaOptions) {}

  static async start(options: LambdaOptions): Promise<LambdaProcess> {
    const lambda = new LambdaProcess(options);
    await lambda.#start();
    return lambda;
  }

  /** Everything that the function wrote to its log. */
  get log(): string {
    return this.#log;
  }

  /**
   * One invocation; those that come meanwhile wait, as they would for this environment.
   *
   * @throws FunctionError what the handler threw; Error when it ran past its timeout or its process ended
   */
  invoke(event: unknown): Promise<unknown> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      const id = randomUUID();
      const timer = setTimeout(
        () => reject(new Error(`${this.options.functionName}: Task timed out.`)),
        this.options.timeoutSeconds * 1_000,
      );
      const settled =
        <T>(settle: (value: T) => void) =>
        (value: T): void => {
          clearTimeout(timer);
          this.#running.delete(id);
          settle(value);
        };
      this.#waiting.push({
        id,
        event: JSON.stringify(event),
        resolve: settled(resolve),
        reject: settled(reject),
      });
      this.#deliver();
    });
  }

  async stop(): Promise<void> {
    if (this.#process !== undefined && this.#process.exitCode === null) {
      const exited = once(this.#process, 'exit');
      this.#process.kill('SIGKILL');
      await exited;
    }
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  async #start(): Promise<void> {
    const { node, runtimeClient, functionName, handler, taskRoot, memoryMb, environment } = this.options;
    this.#server = createServer((request, response) => void this.#answer(request, response));
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const { port } = this.#server.address() as AddressInfo;
    this.#process = spawn(node, ['--require', NATIVE_CLIENT, runtimeClient], {
      cwd: taskRoot,
      // What Lambda sets and the template; nothing of this machine's.
      env: {
        PATH: '/usr/local/bin:/usr/bin/:/bin',
        TZ: ':UTC',
        AWS_LAMBDA_RUNTIME_API: `127.0.0.1:${port}`,
        AWS_LAMBDA_FUNCTION_NAME: functionName,
        AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
        AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMb),
        AWS_LAMBDA_LOG_FORMAT: 'JSON',
        AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${functionName}`,
        AWS_LAMBDA_LOG_STREAM_NAME: '2026/03/14/[$LATEST]0123456789abcdef',
        AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
        AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
        AWS_REGION: 'eu-central-1',
        AWS_DEFAULT_REGION: 'eu-central-1',
        AWS_ACCESS_KEY_ID: 'ASIAEXAMPLE',
        AWS_SECRET_ACCESS_KEY: 'secret',
        AWS_SESSION_TOKEN: 'session',
        LAMBDA_TASK_ROOT: taskRoot,
        LAMBDA_RUNTIME_DIR: '/var/runtime',
        _HANDLER: handler,
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#log += text;
      });
    }
    this.#process.once('exit', (code) => {
      this.#end(new Error(`${functionName} ended with ${code}:\n${this.#log.slice(-2_000)}`));
    });
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const { reject } of [...this.#waiting.splice(0), ...this.#running.values()]) reject(error);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, id = '', what] =
      /^\/2018-06-01\/runtime\/(?:invocation\/)?(?:([^/]+)\/)?(\w+)$/.exec(request.url ?? '') ?? [];
    if (request.method === 'GET' && what === 'next') {
      this.#poll = response;
      this.#deliver();
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8') || 'null');
    response.writeHead(202).end();
    const { errorType = '', errorMessage = '', trace = [] } = what === 'error' ? body : {};
    const error = new FunctionError(errorType, errorMessage, trace);
    if (id === 'init') return this.#end(error);
    const invocation = this.#running.get(decodeURIComponent(id));
    if (what === 'error') invocation?.reject(error);
    else invocation?.resolve(body);
  }

  #deliver(): void {
    const response = this.#poll;
    if (response === undefined) return;
    const invocation = this.#waiting.shift();
    if (invocation === undefined) return;
    this.#poll = undefined;
    this.#running.set(invocation.id, invocation);
    const { functionName, timeoutSeconds } = this.options;
    response.writeHead(200, {
      'content-type': 'application/json',
      'lambda-runtime-aws-request-id': invocation.id,
      'lambda-runtime-deadline-ms': String(Date.now() + timeoutSeconds * 1_000),
      'lambda-runtime-invoked-function-arn': `arn:aws:lambda:eu-central-1:111122223333:function:${functionName}`,
      'lambda-runtime-trace-id': 'Root=1-65f2a1b3-0123456789abcdef01234567;Sampled=0',
    });
    response.end(invocation.event);
  }
}
