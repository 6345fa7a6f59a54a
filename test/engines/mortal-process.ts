/** A script of ours in a process of its own, which is killed at random moments and started again. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

/** The line with which a script says that it works. */
export const READY = 'ready';

export interface MortalProcess {
  /** How often it was killed. */
  readonly deaths: number;
  /** Kills it no more; it works until {@link end}. */
  spare(): Promise<void>;
  end(): Promise<void>;
}

/**
 * Runs a script that prints {@link READY}, kills it (SIGKILL) within `lifeMs` of that, and starts
 * it again.
 *
 * @param argument what it gets as its one argument, as JSON
 */
export function startMortalProcess(script: URL, argument: unknown, lifeMs: number): MortalProcess {
  let deaths = 0;
  let spared = false;
  let ended = false;
  let child: ChildProcess | undefined;
  let ready: Promise<void> = Promise.resolve();

  const start = async (): Promise<ChildProcess> => {
    const started = spawn(process.execPath, ['--import', 'tsx', script.pathname, JSON.stringify(argument)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' },
    });
    ready = (async () => {
      for await (const line of createInterface({ input: started.stdout })) if (line === READY) return;
    })();
    await ready;
    return started;
  };
  const kill = async (victim: ChildProcess): Promise<void> => {
    const exited = once(victim, 'exit');
    victim.kill('SIGKILL');
    await exited;
  };
  const running = (async () => {
    while (!ended) {
      child = await start();
      if (spared) return;
      await sleep(Math.random() * lifeMs);
      if (spared) return;
      await kill(child);
      deaths++;
    }
  })();

  return {
    get deaths() {
      return deaths;
    },
    spare: async () => {
      spared = true;
      await running;
    },
    end: async () => {
      ended = true;
      spared = true;
      await running;
      if (child !== undefined && child.exitCode === null) await kill(child);
    },
  };
}
