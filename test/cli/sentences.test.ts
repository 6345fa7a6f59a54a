/** What commands say in place of a table without lines. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clockCommand } from '../../functions/cli/commands/clock.ts';
import { clustersCommand } from '../../functions/cli/commands/clusters.ts';
import { poolCommand } from '../../functions/cli/commands/pool.ts';
import { type LocalService, startService } from '../../functions/local/service.ts';
import { runCommand } from './run-command.ts';

let service: LocalService;
beforeAll(async () => {
  service = await startService({ engine: { kind: 'memory' }, port: 0, host: '127.0.0.1' });
});
afterAll(() => service.close());

describe('Where there is nothing to show,', () => {
  it.each([
    [
      'rmap clock',
      clockCommand,
      ['--provider', 'foo'],
      'No cluster of those that are asked for is in the map; rmap clusters lists all that are known.',
    ],
    ['rmap clusters', clustersCommand, [], 'No cluster was ever pushed; rmap push FILE pushes one.'],
    ['rmap pool list', poolCommand, ['list'], 'No pools. Create one with "rmap pool put FILE".'],
  ])('%s says so', async (_, command, args, sentence) => {
    expect(await runCommand(command(), ...args, '--url', service.url)).toEqual({
      code: 0,
      stdout: `${sentence}\n`,
      stderr: '',
    });
  });
});
