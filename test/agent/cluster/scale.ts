/**
 * `npm run scale:kubernetes -- [NODES] [PODS]`: what the agent costs at scale, and how long a
 * bound pod takes into the served map. By hand: it takes ten minutes and a quiet machine.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { makeAuthority } from '../control-plane/control-plane.ts';
import { CLUSTER_ID, Scenario } from './scenario.ts';

const GPU = 'nvidia.com/gpu';
const ROUNDS = 20;
const [QUIET_S, SETTLE_S] = [20, 600];
const [nodes = 5_000, pods = 50_000] = process.argv.slice(2).map(Number);

// Node reads the authority when it starts, so the measuring is a second process.
if (process.env.CONTROL_PLANE_FOLDER === undefined) {
  const script = fileURLToPath(new URL('../control-plane/build.sh', import.meta.url));
  const bin = execFileSync('bash', [script], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  }).trim();
  const folder = mkdtempSync(join(tmpdir(), 'resource-map-scale-'));
  const env = {
    ...process.env,
    NODE_EXTRA_CA_CERTS: makeAuthority(folder),
    CONTROL_PLANE_BIN: bin,
    CONTROL_PLANE_FOLDER: folder,
  };
  const { status } = spawnSync(
    process.execPath,
    ['--import', 'tsx', fileURLToPath(import.meta.url), String(nodes), String(pods)],
    { stdio: 'inherit', env },
  );
  rmSync(folder, { recursive: true, force: true });
  process.exitCode = status ?? 1;
} else {
  await measure(process.env.CONTROL_PLANE_BIN ?? '', process.env.CONTROL_PLANE_FOLDER);
}

async function measure(bin: string, folder: string): Promise<void> {
  const played = await Scenario.start(bin, folder, { recorded: false });
  try {
    const { plane } = played;
    const started = performance.now();
    await inTurns(nodes, async (i) => plane.must('POST', '/api/v1/nodes', nodeObject(i)));
    // Half of the pods have accelerators; all are bound already, so that only the agent is measured.
    await inTurns(pods, async (i) => plane.must('POST', '/api/v1/namespaces/default/pods', podObject(i)));
    console.log(`${nodes} nodes and ${pods} pods were made in ${seconds(started)} s.`);
    await played.projectTokens();
    const listed = performance.now();
    const agent = await played.startAgent('--heartbeat', '60');
    while ((await played.snapshot()) === undefined) await sleep(100);
    console.log(`The first snapshot is served ${seconds(listed)} s after the agent's start.`);
    // Pods are set ready one after the other: what is measured begins when that is over.
    let quiet = 0;
    let seen = await contentCounter(played);
    for (let waited = 0; quiet < QUIET_S && waited < SETTLE_S; waited++) {
      await sleep(1_000);
      const now = await contentCounter(played);
      quiet = now === seen ? quiet + 1 : 0;
      seen = now;
    }
    console.log(`The cluster was quiet ${seconds(listed)} s after the agent's start.`);
    const idle = cpuSeconds(agent.pid);
    await sleep(20_000);
    console.log(
      `Memory ${memory(agent.pid)}; CPU of 20 s without changes ${(cpuSeconds(agent.pid) - idle).toFixed(2)} s.`,
    );
    // Those from the start may have expired meanwhile.
    await played.projectTokens();
    const latencies: number[] = [];
    const busy = cpuSeconds(agent.pid);
    for (let round = 0; round < ROUNDS; round++) {
      const before = await contentCounter(played);
      const deadline = performance.now() + 60_000;
      await plane.must('POST', '/api/v1/namespaces/default/pods', podObject(pods + 2 * round));
      const bound = performance.now();
      while ((await contentCounter(played)) === before) {
        if (performance.now() > deadline) throw new Error('A bound pod is not in the map after a minute.');
        await sleep(20);
      }
      latencies.push(performance.now() - bound);
      await sleep(1_000);
    }
    console.log(`CPU of one change ${((cpuSeconds(agent.pid) - busy) / ROUNDS).toFixed(2)} s.`);
    latencies.sort((a, b) => a - b);
    const at = (share: number) => Math.round(latencies[Math.floor(share * (latencies.length - 1))] ?? 0);
    console.log(
      `From a pod's binding to the served map: median ${at(0.5)} ms, slowest ${at(1)} ms; --min-interval 0.2, 250 ms of it to settle.`,
    );
    console.log(`Memory ${memory(agent.pid)} at the end.`);
  } finally {
    await played.stop();
  }
}

/** Of the content that is served: the status is small, where a snapshot would be read for longer than it was waited for. */
async function contentCounter({ client }: Scenario): Promise<bigint> {
  return (await client.cluster(CLUSTER_ID)).contentSinceCounter;
}

function nodeObject(i: number): object {
  const resources = { cpu: '192', memory: '2Ti', pods: '250', [GPU]: '8' };
  return {
    metadata: {
      name: `n${i}`,
      labels: {
        'karpenter.sh/nodepool': `pool-${i % 20}`,
        'node.kubernetes.io/instance-type': 'p5.48xlarge',
        'topology.kubernetes.io/zone': `z${i % 3}`,
        'kubernetes.io/hostname': `n${i}`,
        // What feature discovery adds to a node of a GPU operator.
        ...Object.fromEntries(
          Array.from({ length: 60 }, (_, n) => [`feature.node.kubernetes.io/cpu-cpuid.FEATURE${n}`, 'true']),
        ),
      },
    },
    status: { capacity: resources, allocatable: resources },
  };
}

function podObject(i: number): object {
  const resources = i % 2 === 0 ? { limits: { [GPU]: '1' } } : { requests: { cpu: '10m' } };
  return {
    metadata: {
      name: `p${i}`,
      labels: { app: 'x', 'tandemn.com/job-id': `job-${i % 500}`, 'tandemn.com/chain-id': `c${i}` },
    },
    spec: {
      // Pairs, so that every node has pods with accelerators and pods without, and some left free.
      nodeName: `n${Math.floor(i / 2) % nodes}`,
      containers: [
        {
          name: 'work',
          image: 'registry.example/work:1',
          env: Array.from({ length: 30 }, (_, n) => ({ name: `V${n}`, value: 'x'.repeat(60) })),
          resources,
        },
      ],
    },
  };
}

async function inTurns(count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: 40 }, worker));
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1_000).toFixed(1);
}

function memory(pid: number): string {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mb = (field: string) =>
    Math.round(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1_024);
  return `${mb('VmRSS')} MB resident, ${mb('VmHWM')} MB at most`;
}

function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
