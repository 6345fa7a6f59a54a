/** Runs a command of rmap in this process: what it prints, and the exit code that rmap would end with. */
import { type Command, CommanderError } from 'commander';
import { vi } from 'vitest';
import { EXIT } from '../../functions/cli/exit-codes.ts';
import { failureOf } from '../../functions/cli/failure.ts';
import type { Ran } from './run-rmap.ts';

export async function runCommand(command: Command, ...args: readonly string[]): Promise<Ran> {
  const said = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((stream) =>
    vi.spyOn(process[stream], 'write').mockImplementation((chunk) => {
      said[stream] += String(chunk);
      return true;
    }),
  );
  const before = process.exitCode;
  process.exitCode = EXIT.ok;
  try {
    for (const each of [command, ...command.commands]) each.exitOverride();
    await command.parseAsync(args, { from: 'user' });
    return { ...said, code: Number(process.exitCode) };
  } catch (error) {
    if (error instanceof CommanderError) return { ...said, code: EXIT.usage };
    const { lines, exitCode } = failureOf(error);
    return { ...said, stderr: `${said.stderr}${lines.join('\n')}\n`, code: exitCode };
  } finally {
    process.exitCode = before;
    for (const spy of spies) spy.mockRestore();
  }
}
