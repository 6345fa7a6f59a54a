import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freeBar } from '../../functions/cli/capacity-table.ts';
import { createClient } from '../../functions/client/client.ts';
import { type LocalService, startService } from '../../functions/local/service.ts';
import { COLLECTED_AT_MS, cluster, freeNodes, pending } from '../core/capacity/builders.ts';
import { type Ran, runRmap } from './run-rmap.ts';

let service: LocalService;

beforeAll(async () => {
  service = await startService({ engine: { kind: 'memory' }, port: 0, host: '127.0.0.1' });
  const client = createClient({ baseUrl: service.url });
  await client.push(
    cluster({
      id: 'train',
      types: [
        { type: 'p5', price: '55.04', zone: 'z1', idle: 2, nodes: freeNodes(8, [4, 4, 1]) },
        { type: 'cpu', perNode: 0, idle: 1, model: '' },
      ],
      ranks: [pending('r', 8, 1)],
    }),
  );
  await client.push(
    cluster({
      id: 'site',
      types: [{ perNode: 2, model: 'L40S', nodes: [{ pods: [{ chain: 'a', index: 0 }] }, { external: 1 }] }],
      ranks: [{ name: 'r', pods: [{ count: 1 }], chains: [{ name: 'a' }] }],
    }),
  );
});
afterAll(async () => {
  await service.close();
});

function rmap(args: readonly string[], stdin = ''): Promise<Ran> {
  return runRmap(args, service.url, stdin);
}

/** Cells of each line; the age depends on when the test runs. */
function cells(stdout: string): readonly (readonly string[])[] {
  const days = Math.floor((Date.now() - COLLECTED_AT_MS) / 86_400_000);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/).map((cell) => (cell === `${days}d` ? 'AGE' : cell)));
}

describe('rmap capacity', () => {
  it('has a line for each node type with accelerators, and shows what is free node by node', async () => {
    const { code, stdout } = await rmap(['capacity']);
    expect(cells(stdout).slice(1)).toEqual([
      ['site', 'gpu', 'h100', '2 L40S', '2', '0', '2/4', '-', '-', '0', '?', 'AGE', '█· 1×2'],
      [
        'train',
        'gpu',
        'p5',
        '8 H100',
        '5',
        '2',
        '25/40',
        '8',
        '-',
        '0',
        '55.04 USD',
        'AGE',
        '▄··█···█ 8×2 4×2 1×1',
      ],
    ]);
    expect(code).toBe(0);
  });

  it('adds up, narrows, and prints JSON', async () => {
    const groups = await rmap(['capacity', '--group-by', 'accelerator-model', '--zone', 'z1']);
    expect(cells(groups.stdout)[1]?.[0]).toBe('H100');
    const { stdout } = await rmap(['capacity', '--json', '--cluster', 'site']);
    expect(JSON.parse(stdout)).toMatchObject({
      targets: [{ clusterId: 'site', free: '2', freeHistogram: { 1: 2 } }],
    });
  });

  it('names the group that was meant', async () => {
    const { code, stderr } = await rmap(['capacity', '--group-by', 'zoen']);
    expect([code, stderr]).toEqual([2, '--group-by is "zoen"; did you mean "zone"?\n']);
  });
});

describe('rmap fit', () => {
  it('says where it fits, and exits with 0', async () => {
    const { code, stdout } = await rmap(['fit', '--pods', '4,4', '--accelerator-model', 'H100']);
    expect(stdout.split('\n')[0]).toBe('shape 1, 1 chain: fits');
    expect(cells(stdout)[2]?.slice(0, 6)).toEqual(['train', '-', 'now', '2', '2', '55.04 USD']);
    expect(code).toBe(0);
  });

  it('says why not, and exits with 1', async () => {
    const { code, stdout } = await rmap(['fit', '--pods', '2', '--accelerator-model', 'L40S']);
    expect(stdout.split('\n')[0]).toBe(
      'shape 1, 1 chain: does not fit; needs 1 node with 2 free; 0 have 2, 2 have 1',
    );
    expect(code).toBe(1);
  });

  it('answers for a swap', async () => {
    const { code } = await rmap([
      ...['fit', '--pods', '2', '--accelerator-model', 'L40S'],
      ...['--release', 'site', 'r', 'r', 'a'],
    ]);
    expect(code).toBe(0);
    const { code: usage, stderr } = await rmap(['fit', '--pods', '2', '--release', 'site', 'r']);
    expect([usage, stderr]).toEqual([
      2,
      '--release has 2 ids; a chain is named by four: cluster, job, rank and chain id.\n',
    ]);
  });

  it('takes a whole question from standard input, and prints JSON', async () => {
    const request = {
      shapes: [
        { podRequirements: [{ acceleratorCount: 8 }] },
        { podRequirements: [{ acceleratorCount: 8 }] },
      ],
    };
    const { code, stdout } = await rmap(['fit', '-', '--json'], JSON.stringify(request));
    // One whole node is left beside the pod that waits.
    expect(JSON.parse(stdout)).toMatchObject({ shapes: [{ fits: true }, { fits: false }] });
    expect(code).toBe(1);
  });

  it('needs to be asked something', async () => {
    const { code, stderr } = await rmap(['fit']);
    expect(stderr).toBe('Nothing is asked: give --pods, such as --pods 8,8, or a file with a question.\n');
    expect(code).toBe(2);
  });
});

it('a bar shows whatever is there at all', () => {
  expect(
    freeBar(
      [
        [8, 1_000],
        [1, 1],
      ],
      8,
    ),
  ).toBe('▁······█');
  expect(
    freeBar(
      [
        [2, 1],
        [1, 1],
      ],
      2,
    ),
  ).toBe('██');
});
