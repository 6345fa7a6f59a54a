import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planLines } from '../../functions/cli/plan-table.ts';
import { type BundleService, startBundleService } from '../lambdas/plan/bundle-service.ts';
import { type Ran, runRmap } from './run-rmap.ts';

let service: BundleService;
let folder: string;

beforeAll(async () => {
  service = await startBundleService(['aicr-eks-h100-t3']);
  folder = mkdtempSync(join(tmpdir(), 'rmap-bundle-'));
  await rmap(['pool', 'put', file('h100.json', H100)]);
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await service.close();
});

const rmap = (args: readonly string[], stdin = ''): Promise<Ran> => runRmap(args, service.url, stdin);

function file(name: string, json: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(json));
  return path;
}

const BOUGHT = {
  instanceType: 'p5.48xlarge',
  profile: { capabilities: [{ name: 'resource-map/accelerator', count: 8 }] },
};
const H100 = {
  poolName: 'h100',
  tiers: [
    { tierName: 'reserved', cluster: { clusterId: ['aicr-eks-h100'] } },
    { tierName: 'bought', elastic: { provider: 'aws', instanceTypes: [BOUGHT] } },
  ],
};
const accelerators = (count: number) => ({
  requiredCapabilities: [{ name: 'resource-map/accelerator', count }],
});
const bundle = (jobs: readonly object[], more: object = {}) => ({
  bundleId: 'b1',
  pool: 'h100',
  jobs,
  ...more,
});

/** Cells of each line. */
const cells = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/));

describe('rmap bundle validate', () => {
  it('says that a bundle is valid, on which map, and exits with 0 for what a node that joins can put right', async () => {
    const asked = bundle([{ jobName: 'a', requirements: accelerators(9) }]);
    const { code, stdout } = await rmap(['bundle', 'validate', '-'], JSON.stringify(asked));
    expect([code, ...stdout.split('\n')]).toEqual([
      0,
      'b1: valid, 1 warning',
      '  warning unsatisfiableCapability: Job "a" needs 9 × "resource-map/accelerator", and the best profile of pool "h100" offers 8.',
      expect.stringMatching(/^map W\/".{43}\.pb"$/),
      '',
    ]);
  });

  it('names every finding, and exits with 1 where there is an error', async () => {
    const jobs = [
      { jobName: 'a', requirements: { ...accelerators(9), requiredCores: -1 }, coLocateWith: ['a'] },
    ];
    const { code, stdout } = await rmap(['bundle', 'validate', file('bad.json', bundle(jobs))]);
    expect(code).toBe(1);
    expect(stdout.split('\n').slice(0, 4)).toEqual([
      'b1: invalid, 1 error, 1 warning, 1 advice',
      '  error selfReferenceInPlacement: Job "a" lists itself in coLocateWith; take it out.',
      '  warning unsatisfiableCapability: Job "a" needs 9 × "resource-map/accelerator", and the best profile of pool "h100" offers 8.',
      '  advice invalidNumber: Job "a" has -1 for requiredCores; give a finite number of 0 or more.',
    ]);
  });

  it('takes a whole question, and prints JSON', async () => {
    const request = {
      bundle: bundle([{ jobName: 'a', requirements: { requiredCapacity: 2 } }], { pool: 'p' }),
      pools: [{ poolName: 'p', kind: 'elastic', nodeProfiles: [{ totalCapacity: 1 }] }],
    };
    const { code, stdout } = await rmap(['bundle', 'validate', '--json', file('question.json', request)]);
    expect([code, JSON.parse(stdout)]).toEqual([
      1,
      {
        errors: [
          {
            code: 'unsatisfiableCapacity',
            message: 'Job "a" needs capacity 2, and the best profile of pool "p" offers 1.',
          },
        ],
        warnings: [],
        advice: [],
        etag: '',
      },
    ]);
  });

  it('says what is wrong with a file, by exit code too', async () => {
    const missing = await rmap(['bundle', 'validate', '/no/such/file']);
    expect([missing.code, missing.stderr]).toEqual([
      2,
      '/no/such/file cannot be read: ENOENT: no such file or directory\n',
    ]);
    const unread = await rmap(['bundle', 'validate', '-'], '{"bundleId": "b", "jbos": []}');
    expect(unread.code).toBe(2);
    expect(unread.stderr).toMatch(/^-: \[malformed_json\] /);
    expect(unread.stderr).toContain('Bundle has no field "jbos"; did you mean "jobs"?');
    const refused = await rmap(['bundle', 'validate', '-'], '{"pool": "p", "state": "dead"}');
    expect([refused.code, refused.stderr.split('\n')[0]]).toEqual([
      1,
      '[invalid_bundle_request] bundle.state: "dead" is none of "live", "deleting".',
    ]);
  });
});

describe('rmap bundle plan', () => {
  it('says where each job would land, and exits with 0', async () => {
    const jobs = [
      { jobName: 'encode', requirements: accelerators(2) },
      { jobName: 'mux', coLocateWith: ['encode'] },
    ];
    const { code, stdout } = await rmap(['bundle', 'plan', file('plan.json', bundle(jobs))]);
    expect(code).toBe(0);
    const node = [
      'h100',
      '0 reserved',
      'aicr-eks-h100',
      'gpu-worker/p5.48xlarge-us-east-1e',
      'slot 0 (6 free)',
    ];
    expect(cells(stdout).slice(0, 4)).toEqual([
      ['bundle b1: placed. A node for all 2 jobs.'],
      ['COPY', 'JOB', 'POOL', 'TIER', 'CLUSTER', 'NODE TYPE', 'NODE', 'DEVICES', 'NOTE'],
      ['primary', 'encode', ...node, '2,3', '-'],
      ['primary', 'mux', ...node, '-', '-'],
    ]);
    expect(stdout).toMatch(/\nmap W\/".{43}\.pb"\n$/);
  });

  it('says what is not known of a node that is in use already', async () => {
    const both = ['a', 'b'].map((jobName) => ({
      jobName,
      requirements: { ...accelerators(6), requiredCapacity: 3 },
    }));
    const { stdout } = await rmap(['bundle', 'plan', '-'], JSON.stringify(bundle(both)));
    expect(
      cells(stdout)
        .slice(2, 4)
        .map((row) => [row[6], row[8]])
        .sort(),
    ).toEqual([
      ['slot 0 (6 free)', 'capacity not known'],
      ['slot 1 (8 free)', '-'],
    ]);
  });

  it('says which filter left a job no node and what would hold it, and exits with 1', async () => {
    const three = ['a', 'b', 'c'].map((jobName) => ({ jobName, requirements: accelerators(7) }));
    const { code, stdout } = await rmap(['bundle', 'plan', '-'], JSON.stringify(bundle(three)));
    expect(code).toBe(1);
    expect(stdout).toMatch(/^bundle b1: unplaced\. There is no plan for the bundle\. Job "/);
    expect(cells(stdout)[2]?.slice(0, 2)).toEqual(['primary', 'a']);
    expect(stdout).toContain('A new p5.48xlarge would hold it.');
  });

  it('says where a backup is degraded', async () => {
    const resiliencePolicy = { sameAz: 'forbid' };
    const response = await service.client.planBundles({
      bundles: [{ bundleId: 'b', pool: 'h100', resiliencePolicy, jobs: [{ jobName: 'a' }] }],
    });
    expect(planLines(response).join('\n')).toContain('degraded: same az');
  });

  it('exits with 1 for a primary without its backup', async () => {
    const alone = bundle([{ jobName: 'a', requirements: accelerators(8) }], { resiliencePolicy: {} });
    const { code, stdout } = await rmap(['bundle', 'plan', '-'], JSON.stringify(alone));
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/^bundle b1: partial\. The primary has a plan and the backup has none\./),
    ]);
  });

  it('plans services and bundles of a whole question, and says why one is invalid', async () => {
    const request = {
      services: [
        { serviceId: 'driver', pools: ['h100', 'x'], lifecycle: 'eager' },
        { serviceId: 'later', pools: ['h100'], lifecycle: 'lazy' },
      ],
      bundles: [bundle([], { pool: 'x' }), bundle([], { bundleId: 'b2', state: 'deleting' })],
    };
    const { code, stdout } = await rmap(['bundle', 'plan', file('all.json', request)]);
    expect(code).toBe(1);
    expect(stdout.split('\n')).toEqual(
      expect.arrayContaining([
        'service driver: planned, 2 to start, 0 running; not configured: x',
        'service later: deferred',
        '  error unknownPoolName: The bundle\'s pool "x" is not configured; name one that is configured: "h100".',
        'bundle b2: skipped. The bundle is being deleted; nothing of it is placed.',
      ]),
    );
  });

  it('prints JSON', async () => {
    const request = {
      bundles: [bundle([{ jobName: 'a' }])],
      pools: [{ poolName: 'h100', tiers: [{ cluster: {} }] }],
      candidates: [{ nodeId: 'n1', inventory: { utilizationCap: 1, reachable: true } }],
    };
    const { stdout } = await rmap(['bundle', 'plan', '--json', '-'], JSON.stringify(request));
    expect(JSON.parse(stdout)).toMatchObject({
      bundles: [{ outcome: 'placed', copies: [{ placements: [{ node: { nodeId: 'n1' } }] }] }],
      services: [],
      etag: '',
    });
  });

  it('shows what a terminal would obey as its code', async () => {
    const response = await service.client.planBundles({
      bundles: [{ bundleId: '\u001b]0;title', pool: 'h100', jobs: [{ jobName: '\u001b[2Jjob' }] }],
    });
    const text = planLines(response).join('\n');
    expect(text).not.toContain('\u001b');
    expect(text).toContain('\\u001b[2Jjob');
  });

  it('exits with 3 where no service answers', async () => {
    const { code } = await runRmap(['bundle', 'plan', '-'], 'http://127.0.0.1:1', JSON.stringify(bundle([])));
    expect(code).toBe(3);
  });
});

describe('rmap pool', () => {
  it('lists and shows pools', async () => {
    expect(cells((await rmap(['pool', 'list'])).stdout)).toEqual([
      ['POOL', 'TIERS', 'ETAG'],
      ['h100', 'reserved > bought', expect.stringMatching(/^"[0-9a-f]{32}\.pb"$/)],
    ]);
    expect(cells((await rmap(['pool', 'get', 'h100'])).stdout).slice(1)).toEqual([
      ['TIER', 'KIND', 'NODES'],
      ['0 reserved', 'cluster', 'cluster aicr-eks-h100'],
      ['1 bought', 'elastic', 'provider aws; one of p5.48xlarge'],
    ]);
    expect(JSON.parse((await rmap(['pool', 'list', '--json'])).stdout).pools).toHaveLength(1);
  });

  it('changes a pool that was got, and not one that somebody else has changed since', async () => {
    await rmap(['pool', 'put', '--name', 'edit', '-'], '{"tiers": [{"cluster": {}}]}');
    expect((await rmap(['pool', 'get', 'edit'])).stdout).toContain('every node of the map');
    const got = JSON.parse((await rmap(['pool', 'get', '--json', 'edit'])).stdout);
    got.pool.tiers[0].tierName = 'mine';
    const mine = JSON.stringify(got);
    got.pool.tiers[0].tierName = 'theirs';
    const first = await rmap(['pool', 'put', '-'], mine);
    expect([first.code, first.stdout]).toEqual([
      0,
      expect.stringMatching(/^Saved pool edit \(etag "\w+\.pb"\)\.\n$/),
    ]);
    const second = await rmap(['pool', 'put', '-'], JSON.stringify(got));
    expect([second.code, second.stderr]).toEqual([
      1,
      `[pool_changed] Pool "edit" no longer has the etag ${got.etag}, and nothing was changed; rmap pool get --json edit prints it, to change and put back.\n`,
    ]);
    const forced = await rmap(['pool', 'put', '--replace', '-'], JSON.stringify(got));
    expect(forced.code).toBe(0);
  });

  it('overwrites nothing unasked', async () => {
    const { code, stderr } = await rmap(
      ['pool', 'put', '-'],
      '{"poolName": "h100", "tiers": [{"cluster": {}}]}',
    );
    expect([code, stderr]).toEqual([
      1,
      '[precondition_required] Pool "h100" is there already, and not as it was given; rmap pool get --json h100 prints it, to change and put back, and --replace puts the given one in its place.\n',
    ]);
  });

  it('exits with 2 for an etag that is none, which a shell makes of one without its quotes', async () => {
    const refused = await rmap(['pool', 'delete', 'h100', '--if-match', '0.pb']);
    expect([refused.code, refused.stderr.split('\n')[0]]).toEqual([
      2,
      `error: option '--if-match <etag>' argument '0.pb' is invalid. An etag has quotes, which a shell takes off: '"…"'.`,
    ]);
    const file = await rmap(['pool', 'put', '-'], '{"pool": {"poolName": "h100"}, "etag": "0.pb"}');
    expect([file.code, file.stderr]).toEqual([
      2,
      '-: etag is "0.pb", which is none; leave it as "pool get --json" printed it.\n',
    ]);
  });

  it('replaces nothing that is not there', async () => {
    const pool = '{"poolName": "not there", "tiers": [{"cluster": {}}]}';
    const { code, stderr } = await rmap(['pool', 'put', '--replace', '-'], pool);
    expect([code, stderr]).toEqual([
      1,
      '[pool_changed] Pool "not there" is not there, and nothing was changed; rmap pool list shows those that are.\n',
    ]);
  });

  it('removes a pool, on its etag where one is given', async () => {
    await rmap(['pool', 'put', '-'], '{"poolName": "gone", "tiers": [{"cluster": {}}]}');
    const stale = await rmap(['pool', 'delete', 'gone', '--if-match', '"0"']);
    expect([stale.code, stale.stderr]).toEqual([1, expect.stringContaining('[pool_changed]')]);
    const { code, stdout } = await rmap(['pool', 'delete', 'gone']);
    expect([code, stdout]).toEqual([0, 'Pool gone is removed.\n']);
    const again = await rmap(['pool', 'get', 'gone']);
    expect([again.code, again.stderr]).toEqual([
      1,
      '[pool_not_found] No pool "gone" is configured; rmap pool list lists those that are.\n',
    ]);
  });

  it('asks for one name', async () => {
    expect(await rmap(['pool', 'put', '-'], '{"tiers": [{"cluster": {}}]}')).toMatchObject({
      code: 2,
      stderr: 'The pool has no name; give it as poolName in the file, or with --name.\n',
    });
    expect(await rmap(['pool', 'put', '--name', 'a', '-'], '{"poolName": "b"}')).toMatchObject({
      code: 2,
      stderr: 'The pool is called "b" in the file and "a" by --name; give one of them.\n',
    });
  });

  it.each(['bundle', 'pool'])('rmap %s --help says what there is', async (command) => {
    const { code, stdout } = await rmap([command, '--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/Commands:\n/);
  });
});
