import { execFile, spawnSync } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { decodeSnapshot } from '../../functions/core/snapshot/decode.ts';
import {
  ClusterResourceMapSchema,
  GlobalResourceMapSchema,
} from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { type LocalService, startService } from '../../functions/local/service.ts';
import { startFaultyProxy } from '../client/faulty-proxy.ts';
import { type Ran, RMAP, runRmap } from './run-rmap.ts';

const SAMPLES = new URL('../../functions/local/samples/', import.meta.url).pathname;
const KOPS = join(SAMPLES, 'kops-l4-t3.json');
const AICR = join(SAMPLES, 'aicr-eks-h100-t3.json');

let service: LocalService;
const folder = mkdtempSync(join(tmpdir(), 'rmap-'));

beforeAll(async () => {
  service = await startService({ engine: { kind: 'memory' }, port: 0, host: '127.0.0.1' });
});
afterAll(async () => {
  await service.close();
});

/** Against the service of this file, unless told otherwise. */
function rmap(args: readonly string[], url = service.url, stdin = ''): Promise<Ran> {
  return runRmap(args, url, stdin);
}

/** Lines without those of warnings, which stand indented below the file that they are about. */
function outcomes(stdout: string): readonly string[] {
  return stdout.split('\n').filter((line) => line !== '' && !line.startsWith('  '));
}

describe('rmap validate', () => {
  /** Where no service is. */
  const NOWHERE = 'http://127.0.0.1:9';

  it('checks files without a service, and exits with 0 where none is refused', async () => {
    const { code, stdout, stderr } = await rmap(['validate', KOPS, '-'], NOWHERE, readFileSync(AICR, 'utf8'));
    const warning = (type: number) =>
      `  warn unspecified_purchase_model capacity_pools[${type}].node_types[0].purchase_model: purchase_model of node type`;
    const [verdict, first, , last, ...rest] = stdout.split('\n');
    expect([verdict, last, rest]).toEqual([`${KOPS}: valid, 2 warnings`, '-: valid', ['']]);
    expect(first).toContain(warning(0));
    expect([code, stderr]).toEqual([0, '']);
  });

  it('names the path of what is wrong, goes on with the other files, and exits with 1', async () => {
    const lie = join(folder, 'lie.json');
    writeFileSync(lie, '{"cluster":{"clusterId":"a\\u001b[31m"},"collectedAt":"2026-01-01T00:00:00Z"}');
    const { code, stdout } = await rmap(['validate', lie, AICR], NOWHERE);
    expect(stdout.split('\n')).toEqual([
      `${lie}: refused for 2 reasons`,
      '  reject invalid_id cluster.cluster_id: cluster.cluster_id is "a\\u001b[31m", with the control character U+001B at position 1; an id has none',
      '  reject missing_counter logical_counter: logical_counter is 0, which is unset; start at 1 and raise it for every push',
      `${AICR}: valid`,
      '',
    ]);
    expect(code).toBe(1);
  });

  it('refuses what would give a warning with --strict, and prints JSON with --json', async () => {
    const { code, stdout } = await rmap(['validate', '--strict', '--json', KOPS, AICR], NOWHERE);
    const [kops, aicr] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { findings: unknown[] });
    expect(kops).toMatchObject({ file: KOPS, valid: false, omittedFindings: 0 });
    expect(kops?.findings[0]).toMatchObject({ code: 'unspecified_purchase_model', severity: 'reject' });
    expect(aicr).toEqual({ file: AICR, valid: true, findings: [], omittedFindings: 0 });
    expect(code).toBe(1);
  });

  it('exits with 2 for a file that is no snapshot, with all that is wrong in it', async () => {
    const wrong = join(folder, 'no-snapshot.json');
    writeFileSync(wrong, '{"capacityPool":[],"job":[]}');
    const { code, stdout, stderr } = await rmap(['validate', wrong, AICR], NOWHERE);
    const unknown = (name: string, nearest: string) =>
      `ClusterResourceMap has no field "${name}"; did you mean "${nearest}"?`;
    expect(stderr.split('\n')).toEqual([
      `${wrong}: [malformed_json] The body is no resourcemap.v1.ClusterResourceMap in ProtoJSON: capacityPool: ${unknown('capacityPool', 'capacityPools')} And 1 more, see findings.`,
      `  reject unknown_field capacityPool: ${unknown('capacityPool', 'capacityPools')}`,
      `  reject unknown_field job: ${unknown('job', 'jobs')}`,
      '',
    ]);
    expect([stdout, code]).toEqual([`${AICR}: valid\n`, 2]);
  });

  it('exits with 2 for a file that cannot be read, which it names once', async () => {
    const [missing, empty] = [join(folder, 'missing.json'), join(folder, 'empty.json')];
    writeFileSync(empty, '');
    const { code, stdout, stderr } = await rmap(['validate', missing, empty, folder, '-', AICR], NOWHERE);
    expect(stderr.split('\n')).toEqual([
      `${missing} cannot be read: ENOENT: no such file or directory`,
      `${empty} is empty.`,
      `${folder} cannot be read: EISDIR: illegal operation on a directory`,
      'Standard input is empty.',
      '',
    ]);
    expect([stdout, code]).toEqual([`${AICR}: valid\n`, 2]);
  });

  it('exits with 2 where one file breaks a rule and another cannot be read', async () => {
    const { code } = await rmap(['validate', '--strict', KOPS, join(folder, 'missing.json')], NOWHERE);
    expect(code).toBe(2);
  });
});

describe('rmap push', () => {
  it('pushes ProtoJSON, gzip and Protobuf files alike, whatever their names are', async () => {
    const json = readFileSync(KOPS);
    const zipped = join(folder, 'a');
    writeFileSync(zipped, gzipSync(json));
    const binary = join(folder, 'b.json');
    writeFileSync(binary, toBinary(ClusterResourceMapSchema, decodeSnapshot(json, 'json')));
    const { code, stdout } = await rmap(['push', KOPS, zipped, binary]);
    expect(outcomes(stdout)).toEqual([
      `${KOPS}: PUBLISHED kops-l4 at 4`,
      `${zipped}: ALREADY_PUBLISHED kops-l4 at 4`,
      `${binary}: ALREADY_PUBLISHED kops-l4 at 4`,
    ]);
    expect(stdout.split('\n')[1]).toBe(
      '  warn unspecified_purchase_model capacity_pools[0].node_types[0].purchase_model: ' +
        'purchase_model of node type "control-plane" of pool "control-plane" is not set; say how its nodes are paid for',
    );
    expect(code).toBe(0);
  });

  it('reads standard input, and prints ProtoJSON when asked to', async () => {
    const file = join(SAMPLES, 'upcloud-l40s-t0.json');
    const { code, stdout } = await rmap(['push', '-', '--json'], service.url, readFileSync(file, 'utf8'));
    expect(JSON.parse(stdout)).toMatchObject({
      file: '-',
      outcome: 'PUSH_OUTCOME_PUBLISHED',
      clusterId: 'upcloud-l40s',
      logicalCounter: '1',
      highWaterMark: '1',
      warnings: [{ code: 'unspecified_purchase_model', severity: 'warn' }],
      omittedWarnings: 0,
    });
    expect(code).toBe(0);
  });

  it('tells a refusal with its code and exits with 1, and still pushes the other files', async () => {
    const old = join(folder, 'old.json');
    writeFileSync(old, JSON.stringify({ ...JSON.parse(readFileSync(KOPS, 'utf8')), logicalCounter: '3' }));
    const { code, stdout, stderr } = await rmap(['push', old, KOPS]);
    expect(stderr).toBe(
      `${old}: [counter_regressed] Counter 3 of cluster "kops-l4" is below 4, which was accepted before; use 5 or above.\n` +
        '  --bump goes on above the high-water mark.\n',
    );
    expect(outcomes(stdout)).toEqual([`${KOPS}: ALREADY_PUBLISHED kops-l4 at 4`]);
    expect(code).toBe(1);
  });

  it('goes on above the high-water mark with --bump', async () => {
    const changed = join(folder, 'changed.json');
    writeFileSync(
      changed,
      JSON.stringify({
        ...JSON.parse(readFileSync(KOPS, 'utf8')),
        jobs: [],
        capacityPools: [],
        logicalCounter: '1',
      }),
    );
    const { code, stdout } = await rmap(['push', '--bump', changed]);
    expect(stdout).toBe(
      `${changed}: PUBLISHED kops-l4 at 5\n` +
        '  warn snapshot_emptied capacity_pools: the snapshot has no node, and the content before had 6; if they are still there, check the agent’s rights\n',
    );
    expect(code).toBe(0);
  });

  it('names the place of a mistyped field, and the field that was meant', async () => {
    const wrong = join(folder, 'wrong.json');
    writeFileSync(wrong, '{"cluster":{"clusterId":"x"},"capacityPool":[]}');
    const { code, stderr } = await rmap(['push', wrong]);
    expect(stderr).toContain(
      'capacityPool: ClusterResourceMap has no field "capacityPool"; did you mean "capacityPools"?',
    );
    expect(code).toBe(2);
  });

  it('exits with 2 for a file that is not there', async () => {
    const file = join(folder, 'none.json');
    const { code, stderr } = await rmap(['push', file]);
    expect(stderr).toBe(`${file} cannot be read: ENOENT: no such file or directory\n`);
    expect(code).toBe(2);
  });

  it('names the option for a counter that jumps', async () => {
    const file = join(folder, 'jump.json');
    writeFileSync(
      file,
      JSON.stringify({ ...JSON.parse(readFileSync(KOPS, 'utf8')), logicalCounter: String(2n ** 60n) }),
    );
    const { code, stderr } = await rmap(['push', file]);
    expect(stderr).toMatch(
      /\n {2}reject counter_jump logical_counter: .*, or push with allow_jump=true if it is meant \(rmap push --allow-jump\)\n$/,
    );
    expect(code).toBe(1);
  });
});

describe('rmap get, clusters and clock', () => {
  it('show the map, the clusters and the clock that were pushed', async () => {
    await rmap(['push', join(SAMPLES, 'aicr-eks-h100-t3.json')]);
    const [get, clusters, clock, json] = await Promise.all([
      rmap(['get', '--cluster', 'aicr-eks-h100']),
      rmap(['clusters', 'aicr-eks-h100', '--json']),
      rmap(['clock', '--json', '--provider', 'aws', '--region', 'us-east-1']),
      rmap(['get', '--json']),
    ]);
    expect(get.stdout.split('\n')[1]).toMatch(
      /^aicr-eks-h100 +103 +gpu-worker +p5\.48xlarge-us-east-1e +NVIDIA-H100-80GB-HBM3 +2 +8 +14 +8×1 6×1$/,
    );
    expect(JSON.parse(clusters.stdout)).toMatchObject({
      state: 'CLUSTER_STATE_INCLUDED',
      highWaterMark: '103',
    });
    expect(JSON.parse(clock.stdout)).toEqual({ vectorClock: { 'aicr-eks-h100': '103' } });
    expect(JSON.parse(json.stdout).vectorClock['aicr-eks-h100']).toBe('103');
  });

  it('writes the whole map to a file', async () => {
    const file = join(folder, 'map.binpb');
    const { code } = await rmap(['get', '-o', file]);
    expect(code).toBe(0);
    const map = fromBinary(GlobalResourceMapSchema, readFileSync(file));
    expect(map.clusterResourceMaps.length).toBe(Object.keys(map.vectorClock).length);
    expect(map.vectorClock['aicr-eks-h100']).toBe(103n);
  });

  it('exit with 3 where nothing answers, and with 2 for a wrong command line', async () => {
    const [unreachable, unknown, badUrl, help] = await Promise.all([
      rmap(['clock'], 'http://127.0.0.1:1'),
      rmap(['clack']),
      rmap(['clock', '--url', 'nowhere']),
      rmap(['--help']),
    ]);
    expect(unreachable.code).toBe(3);
    expect(unreachable.stderr).toContain('Is the service running? npm start starts one');
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain("unknown command 'clack'");
    expect(badUrl.code).toBe(2);
    expect(badUrl.stderr).toBe('"nowhere" is no URL; --url takes one such as http://127.0.0.1:8080.\n');
    expect(help.code).toBe(0);
    expect(help.stdout).toContain('\nExit codes:\n  0  done\n  1  the service, or a rule, said no\n');
  });

  it('head the columns of ages with what is that old', async () => {
    const heads = async (...args: readonly string[]) => (await rmap(args)).stdout.split('\n')[0];
    expect(await heads('clusters')).toMatch(/ {2}RECEIVED AGO {2}/);
    expect(await heads('capacity')).toMatch(/ {2}COLLECTED AGO {2}/);
    expect(await heads('capacity', '--group-by', 'provider')).toMatch(/ {2}OLDEST COLLECTED AGO {2}/);
  });

  it('say with which command the clusters are listed, of one that there is not', async () => {
    const { code, stderr } = await rmap(['clusters', 'nobody']);
    expect(stderr).toBe(
      '[cluster_not_found] No cluster "nobody" is known; rmap clusters lists those that are.\n',
    );
    expect(code).toBe(1);
  });

  it('say what --url takes, where it leads elsewhere', async () => {
    const { code, stderr } = await rmap(['clusters', '--url', `${service.url}/v1`]);
    expect(stderr).toBe(
      '[not_found] No route matches /v1/v1/clusters; --url or RMAP_URL takes the address of a Resource Map, without a path of its API.\n',
    );
    expect(code).toBe(1);
  });
});

describe('rmap omit', () => {
  const OMITTED =
    /^Cluster leaves is out of the map since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \(decommissioned\); its next push brings it back\.\n$/;

  it('takes a cluster out of the map, says what was done, and that one was out already', async () => {
    const pushed = JSON.stringify({
      ...JSON.parse(readFileSync(KOPS, 'utf8')),
      cluster: { clusterId: 'leaves' },
    });
    await rmap(['push', '-'], service.url, pushed);
    const omitted = await rmap(['omit', 'leaves', '--reason', 'decommissioned']);
    expect(omitted).toEqual({ code: 0, stdout: expect.stringMatching(OMITTED), stderr: '' });
    expect((await rmap(['clock', '--json'])).stdout).not.toContain('leaves');
    expect(await rmap(['omit', 'leaves', '--reason', 'decommissioned'])).toEqual({
      ...omitted,
      stdout: omitted.stdout
        .replace('is out of the map', 'was already omitted')
        .replace(' (', ' (reason unchanged: '),
    });
    expect(JSON.parse((await rmap(['omit', 'leaves', '--json'])).stdout)).toMatchObject({
      state: 'CLUSTER_STATE_OMITTED',
      omittedReason: 'decommissioned',
    });
    expect((await rmap(['push', '-'], service.url, pushed)).code).toBe(0);
    expect((await rmap(['clock', '--json'])).stdout).toContain('leaves');
  });

  it('exits with 1 for a cluster that there is not, and for a reason that is too long', async () => {
    const nobody = await rmap(['omit', 'nobody']);
    expect([nobody.code, nobody.stderr]).toEqual([
      1,
      '[cluster_not_found] No cluster "nobody" is known; rmap clusters lists those that are.\n',
    ]);
    const long = await rmap(['omit', 'kops-l4', '--reason', 'x'.repeat(201)]);
    expect([long.code, long.stderr]).toEqual([
      1,
      expect.stringContaining('has 201 bytes; at most 200 are kept'),
    ]);
  });
});

it.skipIf(!existsSync('/dev/full'))('Output that cannot be written is told, and is no refusal', () => {
  const full = openSync('/dev/full', 'w');
  onTestFinished(() => closeSync(full));
  const { status, stderr } = spawnSync(process.execPath, [RMAP, '--help'], {
    stdio: ['ignore', full, 'pipe'],
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([
    2,
    'Standard output cannot be written: ENOSPC: no space left on device, write\n',
  ]);
});

describe('A command that there is not', () => {
  it.each([
    [['foo'], 'foo', 'none'],
    [['nosuch', '--help'], 'nosuch', 'none'],
    [['pshu'], 'pshu', 'push'],
    [['help', 'clack'], 'clack', 'clock'],
    [['omitt', '-h'], 'omitt', 'omit'],
    [['pool', 'lst'], 'lst', 'list'],
    [['pool', 'remove', '--help'], 'remove', 'none'],
    [['pool', 'delte', '--help'], 'delte', 'delete'],
    [['omit', '--help'], undefined, undefined],
    [['pool', 'help'], undefined, undefined],
  ])(
    'is an error that names the nearest if one is near, and no help: rmap %j',
    async (args, name, nearest) => {
      const { code, stdout, stderr } = await rmap(args);
      if (name === undefined) {
        expect([code, stderr, stdout]).toEqual([0, '', expect.stringMatching(/^Usage: rmap /)]);
      } else {
        expect([code, stdout]).toEqual([2, '']);
        expect(stderr).toMatch(
          new RegExp(
            `^error: unknown command '${name}'${nearest === 'none' ? '' : `; did you mean '${nearest}'\\?`}\n`,
          ),
        );
      }
    },
  );

  it('is no more than the help where none is given', async () => {
    for (const args of [[], ['pool']]) {
      const { code, stdout, stderr } = await rmap(args);
      expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(/^Usage: rmap /)]);
    }
  });
});

describe('rmap push --watch', () => {
  it('pushes a file again when another is renamed over it', async () => {
    const file = join(folder, 'watched.json');
    copyFileSync(join(SAMPLES, 'viettel-l40s-t1.json'), file);
    const child = execFile(process.execPath, [RMAP, 'push', '--watch', file], {
      env: { ...process.env, RMAP_URL: service.url },
    });
    const lines: string[] = [];
    child.stdout?.on('data', (chunk: string) =>
      lines.push(...chunk.split('\n').filter((line) => line !== '')),
    );
    try {
      await expect.poll(() => lines, { timeout: 15_000 }).toEqual([`${file}: PUBLISHED viettel-l40s at 2`]);
      const next = join(folder, 'next.json');
      writeFileSync(next, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), logicalCounter: '3' }));
      renameSync(next, file);
      await expect.poll(() => lines.at(-1), { timeout: 15_000 }).toBe(`${file}: REFRESHED viettel-l40s at 3`);
    } finally {
      child.kill();
    }
  });
});

describe('rmap push --watch, while it is still pushing,', () => {
  it('misses no file that is written meanwhile', async () => {
    const proxy = await startFaultyProxy(service.url);
    onTestFinished(() => proxy.close());
    const sample = JSON.parse(readFileSync(KOPS, 'utf8')) as object;
    const write = (clusterId: string, logicalCounter: string): string => {
      const file = join(folder, `${clusterId}.json`);
      writeFileSync(`${file}.new`, JSON.stringify({ ...sample, cluster: { clusterId }, logicalCounter }));
      renameSync(`${file}.new`, file);
      return file;
    };
    const [first, second] = [write('first', '1'), write('second', '1')];
    // The second push takes so long that the first file is replaced before it ends.
    proxy.fates.push('pass', { status: 503, headers: { 'retry-after': '2' } });
    const child = execFile(process.execPath, [RMAP, 'push', '--watch', first, second], {
      env: { ...process.env, RMAP_URL: proxy.url },
    });
    onTestFinished(() => void child.kill());
    let said = '';
    child.stdout?.on('data', (chunk: string) => {
      said += chunk;
    });
    await expect.poll(() => proxy.seen.length, { timeout: 15_000 }).toBe(2);
    write('first', '2');
    await expect.poll(() => said, { timeout: 15_000 }).toContain('PUBLISHED second at 1');
    await expect.poll(() => said, { timeout: 15_000 }).toContain('REFRESHED first at 2');
  });
});

describe('rmap push --watch, while the service is away,', () => {
  it('keeps a change, sends the newest state of the file, and sends an untouched file no more', async () => {
    const proxy = await startFaultyProxy(service.url);
    onTestFinished(() => proxy.close());
    const sample = JSON.parse(readFileSync(KOPS, 'utf8')) as object;
    const file = join(folder, 'sidecar.json');
    const write = (logicalCounter: string) => {
      writeFileSync(
        `${file}.new`,
        JSON.stringify({ ...sample, cluster: { clusterId: 'sidecar' }, logicalCounter }),
      );
      renameSync(`${file}.new`, file);
    };
    write('1');
    // Three tries of the first push, and three of the second, end without the service.
    const away = { status: 503 };
    proxy.fates.push('pass', away, away, away);
    const child = execFile(process.execPath, [RMAP, 'push', '--watch', file], {
      env: { ...process.env, RMAP_URL: proxy.url },
    });
    onTestFinished(() => void child.kill());
    let said = '';
    child.stdout?.on('data', (chunk: string) => {
      said += chunk;
    });
    await expect.poll(() => said, { timeout: 15_000 }).toContain('PUBLISHED sidecar at 1');
    write('2');
    await expect.poll(() => proxy.seen.length, { timeout: 15_000 }).toBeGreaterThanOrEqual(4);
    write('3');
    await expect.poll(() => said, { timeout: 15_000 }).toContain('REFRESHED sidecar at 3');
    expect(said).not.toContain('sidecar at 2');
    const sent = proxy.seen.length;
    // Four looks at the file.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(proxy.seen.length).toBe(sent);
  });
});

describe('rmap get --watch', () => {
  /** Lines of a process that goes on until the test is over. */
  function watch(...args: readonly string[]): readonly string[] {
    const child = execFile(process.execPath, [RMAP, 'get', '--watch', ...args], {
      env: { ...process.env, RMAP_URL: service.url },
    });
    onTestFinished(() => void child.kill());
    const lines: string[] = [];
    child.stdout?.on('data', (chunk: string) =>
      lines.push(...chunk.split('\n').filter((line) => line !== '')),
    );
    return lines;
  }

  /** A sample under another name, at a counter. */
  function fileAt(counter: number): string {
    const sample = JSON.parse(readFileSync(join(SAMPLES, 'upcloud-l40s-t0.json'), 'utf8')) as object;
    const file = join(folder, `seen-${counter}.json`);
    writeFileSync(
      file,
      JSON.stringify({ ...sample, cluster: { clusterId: 'seen' }, logicalCounter: `${counter}` }),
    );
    return file;
  }

  it('prints what is there, and then what changes', async () => {
    const lines = watch('--cluster', 'seen');
    const last = () => expect.poll(() => lines.at(-1), { timeout: 15_000 });
    await last().toMatch(/^complete {5}W\/"[\w-]{43}\.pb"$/);
    await rmap(['push', fileAt(7)]);
    await last().toMatch(/^added {8}seen {2}at 7, \d+ of \d+ accelerators free$/);
    await rmap(['push', fileAt(8)]);
    await last().toMatch(/^refreshed {4}seen {2}at 8, \d+ of \d+ accelerators free$/);
    await fetch(`${service.url}/v1/clusters/seen`, { method: 'DELETE' });
    await last().toBe('omitted      seen  unknown since 8');
    expect(lines).toHaveLength(4);
  });

  it('prints one JSON object an event for programs', async () => {
    const lines = watch('--json', '--cluster', 'aicr-eks-h100');
    await expect.poll(() => lines.length, { timeout: 15_000 }).toBeGreaterThanOrEqual(2);
    const [added, complete] = lines.map((line) => JSON.parse(line));
    expect(added).toMatchObject({
      kind: 'added',
      clusterId: 'aicr-eks-h100',
      logicalCounter: '103',
      snapshot: { cluster: { clusterId: 'aicr-eks-h100' }, logicalCounter: '103' },
    });
    expect(complete).toMatchObject({ kind: 'complete', etag: expect.stringMatching(/^W\//) });
  });

  it('does not go together with a file', async () => {
    const { code, stderr } = await rmap(['get', '--watch', '-o', join(folder, 'x.json')]);
    expect(code).toBe(2);
    expect(stderr).toContain("option '-w, --watch' cannot be used with option '-o, --output <file>'");
  });
});

describe('rmap events', () => {
  it('shows changes as they happen, for people and for programs', async () => {
    const env = { ...process.env, RMAP_URL: service.url };
    const listeners = [[], ['--json']].map((args) =>
      execFile(process.execPath, [RMAP, 'events', ...args], { env }),
    );
    const outputs = listeners.map((child) => {
      const output = { text: '' };
      child.stdout?.on('data', (chunk: string) => {
        output.text += chunk;
      });
      return output;
    });
    try {
      // A listener hears only what comes after it: so changes are made until both have heard one.
      let counter = 100;
      await expect
        .poll(
          async () => {
            const push = { ...JSON.parse(readFileSync(KOPS, 'utf8')), logicalCounter: String(counter++) };
            push.cluster.displayName = `kOps ${counter}`;
            await rmap(['push', '-'], service.url, JSON.stringify(push));
            return outputs.every(({ text }) => text.includes('\n'));
          },
          { timeout: 30_000 },
        )
        .toBe(true);
      const [people, programs] = outputs;
      expect(people?.text).toMatch(
        /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}Cluster Published {2}kops-l4 at 1\d\d, was \d+: NVIDIA L4 0 free of 3\n/,
      );
      expect(JSON.parse(programs?.text.split('\n')[0] ?? '')).toMatchObject({
        'detail-type': 'Cluster Published',
        detail: { clusterId: 'kops-l4' },
      });
    } finally {
      for (const child of listeners) child.kill();
    }
  });

  it('says where events are, of a service that has no stream', async () => {
    const { code, stderr } = await rmap(['events', '--url', `${service.url}/deployed`]);
    expect(stderr).toBe(
      `[not_found] ${service.url}/deployed has no event stream, which only a local service has. ` +
        'In AWS a rule on the event bus brings events; docs/events.md shows some.\n',
    );
    expect(code).toBe(1);
  });

  it('exits with 3 where nothing answers', async () => {
    expect((await rmap(['events'], 'http://127.0.0.1:1')).code).toBe(3);
  });
});
