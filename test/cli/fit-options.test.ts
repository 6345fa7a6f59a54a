import { describe, expect, it } from 'vitest';
import { fitCommand } from '../../functions/cli/commands/fit.ts';
import { runCommand } from './run-command.ts';

describe('rmap fit', () => {
  it.each(['x', '8,', '', '8,0', '8;8', '4294967296'])('says what --pods takes: %j', async (pods) => {
    const { code, stderr } = await runCommand(fitCommand(), '--pods', pods);
    expect(stderr).toContain(
      `argument '${pods}' is invalid. It is the accelerators of each pod, each an integer of at least 1, with commas between, such as 8,8.`,
    );
    expect(code).toBe(2);
  });

  it('says what --chains takes', async () => {
    const { stderr } = await runCommand(fitCommand(), '--pods', '8', '--chains', '0');
    expect(stderr).toContain("argument '0' is invalid. It is an integer of at least 1.");
  });
});
