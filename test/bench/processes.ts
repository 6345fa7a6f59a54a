/** Processes of the bench. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface ServerProcess {
  readonly url: string;
  readonly pid: number;
  close(): Promise<void>;
}

/** Starts `server.ts` with arguments, and waits until it answers. */
export async function startServer(...args: readonly string[]): Promise<ServerProcess> {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', new URL('server.ts', import.meta.url).pathname, ...args],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const exited = once(child, 'exit');
  const [port] = (await Promise.race([
    once(createInterface(child.stdout), 'line'),
    exited.then(([code]) => {
      throw new Error(`the server ${args.join(' ')} ended with ${code} before it answered`);
    }),
  ])) as [string];
  if (child.pid === undefined) throw new Error('the server has no process');
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid,
    close: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
