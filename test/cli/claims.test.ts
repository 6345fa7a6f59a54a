import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimCommand } from '../../functions/cli/commands/claim.ts';
import { newClaimId } from '../../functions/client/claim-id.ts';
import { type BundleService, startBundleService } from '../lambdas/plan/bundle-service.ts';
import { runCommand } from './run-command.ts';
import { RMAP } from './run-rmap.ts';

const CLUSTER = 'aicr-eks-h100';

let service: BundleService;
beforeAll(async () => {
  service = await startBundleService(['aicr-eks-h100-t3']);
});
afterAll(() => service.close());

const rmap = (...args: readonly string[]) => runCommand(claimCommand(), ...args, '--url', service.url);
const create = (...more: readonly string[]) =>
  rmap('create', '--cluster', CLUSTER, '--job', 'llm', '--pods', '1', ...more);

describe('rmap claim', () => {
  it('creates, lists, shows, confirms, renews and releases', async () => {
    expect((await rmap('list')).stdout).toBe('No claims. Make one with "rmap claim create".\n');
    const id = newClaimId();
    const created = await create('--id', id, '--ttl', '60s', '--rank', 'decode', '--note', 'mine');
    expect(created).toMatchObject({ code: 0, stderr: '' });
    const [head = '', line = '', placement = ''] = created.stdout.split('\n');
    expect(head).toMatch(/^CLUSTER +ID +STATE +JOB +CHAINS +ACCELERATORS +LEFT +BACKED +OWNER$/);
    expect(line.split(/ +/).slice(0, 6)).toEqual([CLUSTER, id, 'held', 'llm', '1', '1']);
    expect(placement).toMatch(/^rank decode, 1 × \[1 on \S+\/\S+\]$/);
    expect((await create('--id', id, '--rank', 'decode')).code).toBe(0);

    const of = ['--cluster', CLUSTER, '--json'];
    const state = async (...args: readonly string[]) => JSON.parse((await rmap(...args, ...of)).stdout).state;
    expect(await state('get', id)).toBe('CLAIM_STATE_HELD');
    expect(await state('confirm', id, '--ttl', '2m')).toBe('CLAIM_STATE_CONFIRMED');
    expect(await state('renew', id, '--ttl', '1h')).toBe('CLAIM_STATE_CONFIRMED');
    const { claims } = JSON.parse(
      (await rmap('list', '--state', 'confirmed', '--owner', 'self', '--json')).stdout,
    );
    expect(claims).toEqual([expect.objectContaining({ id, note: 'mine', backed: true })]);
    expect(await state('release', id, '--reason', 'done')).toBe('CLAIM_STATE_CONFIRMED');
    expect(await state('release', id, '--never-started')).toBe('CLAIM_STATE_RELEASED');
    const ended = await rmap('renew', id, '--cluster', CLUSTER);
    expect([ended.code, ended.stderr]).toEqual([
      1,
      expect.stringContaining(`[claim_ended] Claim ${id} is released`),
    ]);
  });

  it('says no with the exit code of a refusal, and judges without holding', async () => {
    expect((await create('--dry-run')).code).toBe(0);
    const refused = await create('--chains', '16000');
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('[claim_does_not_fit]')]);
    expect((await rmap('list', '--state', 'held')).stdout).toBe(
      'No claims. Make one with "rmap claim create".\n',
    );
  });

  it.each([
    [['create', '--job', 'j', '--pods', '1'], 'A claim is in one cluster; name it with one --cluster.'],
    [['create', '--cluster', 'c', '--pods', '1'], 'No job is named; give --job, or a file with a request.'],
    [
      ['create', '--cluster', 'c', '--job', 'j'],
      'No pods are claimed; give --pods, such as --pods 8,8, or a file with a request.',
    ],
    [
      ['create', '--cluster', 'c', '--job', 'j', '--pods', '1', '--region', 'r'],
      'A claim is in the cluster that --cluster names; leave --region out.',
    ],
    [
      ['create', '--cluster', 'c', '--job', 'j', '--pods', '1', '--pool', 'a', '--pool', 'b'],
      "A claim's pods name one --pool at most; give it once.",
    ],
    [
      ['create', '--cluster', 'c', '--job', 'j', '--pods', '1', '--chains', '2', '--chain-id', 'x'],
      'Give --chains or --chain-id, not both: as many chains are claimed as there are ids.',
    ],
    [
      ['create', 'file', '--cluster', 'c', '--pods', '1'],
      'Give a file or --job and --pods, not both: the file says what is claimed.',
    ],
    [['list', '--state', 'hold'], '--state is "hold"; did you mean "held"?'],
    [
      ['confirm', 'x', '--cluster', 'c', '--ttl', '1 day'],
      'It is a number of seconds, minutes or hours, such as 60s, 15m or 2h.',
    ],
  ])('%j is a mistake that is named', async (args, message) => {
    const { code, stderr } = await rmap(...args);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });

  it('watches: the list, and again when it changes', async () => {
    const watching = spawn(process.execPath, [
      RMAP,
      'claim',
      'watch',
      '--json',
      '--url',
      service.url,
      '--job',
      'seen',
    ]);
    try {
      const lines = createInterface({ input: watching.stdout })[Symbol.asyncIterator]();
      const next = async () =>
        JSON.parse((await lines.next()).value).claims.map((c: { jobId: string }) => c.jobId);
      expect(await next()).toEqual([]);
      await rmap('create', '--cluster', CLUSTER, '--job', 'seen', '--pods', '1');
      expect(await next()).toEqual(['seen']);
    } finally {
      watching.kill();
    }
  });
});
