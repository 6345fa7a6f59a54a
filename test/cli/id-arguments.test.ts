import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { clustersCommand } from '../../functions/cli/commands/clusters.ts';
import { omitCommand } from '../../functions/cli/commands/omit.ts';
import { poolCommand } from '../../functions/cli/commands/pool.ts';
import { pushCommand } from '../../functions/cli/commands/push.ts';
import { tokenCommand } from '../../functions/cli/commands/token.ts';
import { trustCommand } from '../../functions/cli/commands/trust.ts';
import { runCommand } from './run-command.ts';

/** Where no service is: what is sent there ends with 3. */
const NOWHERE = ['--url', 'http://127.0.0.1:9'];
const folder = mkdtempSync(join(tmpdir(), 'rmap-ids-'));

describe('A snapshot that names no cluster', () => {
  it.each([
    [
      '{}',
      'breaks 3 rules',
      'missing_cluster_id cluster.cluster_id: cluster.cluster_id is not set; set it to the id under which the cluster is registered',
    ],
    [
      '{"cluster":{"clusterId":".."},"collectedAt":"2026-01-01T00:00:00Z","logicalCounter":"1"}',
      'breaks a rule',
      'invalid_id cluster.cluster_id: cluster.cluster_id is "..", which the path of a URL cannot carry; choose another id',
    ],
  ])('is refused before it is sent, with what validate finds: %s', async (json, breaks, finding) => {
    const file = join(folder, 'snapshot.json');
    writeFileSync(file, json);
    const { code, stdout, stderr } = await runCommand(pushCommand(), file, ...NOWHERE);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr.split('\n').slice(0, 2)).toEqual([
      `${file}: [invalid_snapshot] The snapshot ${breaks}; the map keeps the last good one.`,
      `  reject ${finding}`,
    ]);
  });
});

describe('An id that cannot be one', () => {
  const EMPTY_CLUSTER = 'The cluster id is empty; an id has 1 to 253 bytes.';
  it.each<[() => Command, readonly string[], string]>([
    [omitCommand, [''], EMPTY_CLUSTER],
    [clustersCommand, [''], EMPTY_CLUSTER],
    [omitCommand, ['..'], 'The cluster id is "..", which the path of a URL cannot carry; choose another id.'],
    [poolCommand, ['get', ''], 'The pool name is empty.'],
    [poolCommand, ['delete', ''], 'The pool name is empty.'],
    [tokenCommand, ['revoke', ''], 'The id is empty.'],
    [trustCommand, ['remove', ''], 'The id is empty.'],
  ])('is a wrong command line: %o %j', async (command, args, message) => {
    expect(await runCommand(command(), ...args, ...NOWHERE)).toEqual({
      code: 2,
      stdout: '',
      stderr: `${message}\n`,
    });
  });

  it('is a pool without a name in the file and with an empty one beside it', async () => {
    const file = join(folder, 'pool.json');
    writeFileSync(file, '{}');
    const { code, stderr } = await runCommand(poolCommand(), 'put', '--name', '', file, ...NOWHERE);
    expect([code, stderr]).toEqual([
      2,
      'The pool has no name; give it as poolName in the file, or with --name.\n',
    ]);
  });
});
