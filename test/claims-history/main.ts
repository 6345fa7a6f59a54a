/**
 * A history of claims: service processes that are killed, schedulers whose responses get lost, agents that show
 * late, nodes that come and go, on a clock that runs faster. Judged: a cluster never holds more than it has, no
 * acknowledged claim is lost, and nothing is held for ever.
 * `npm run claims:history -- --help` lists the options.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { newClaimId } from '../../functions/client/claim-id.ts';
import { startDynalite } from '../../functions/local/dynalite.ts';
import { dynamoClient } from '../../functions/storage/client.ts';
import { LedgerStore } from '../../functions/storage/ledgers.ts';
import { DEFAULT_SHARDS } from '../../functions/storage/tables.ts';
import { startDynamoDbLocal } from '../engines/dynamodb-local.ts';
import { javaIsMissing } from '../engines/java.ts';
import { Random } from '../simulation/random.ts';
import { FakeCluster, NODE_TYPES } from './fake-cluster.ts';
import { type HistoryOptions, historyOptions } from './options.ts';
import { scaledClock } from './scaled-time.ts';
import { schedule, Tally } from './scheduler.ts';
import { Services } from './services.ts';

const PROCESSES = 4;
const SCHEDULERS = 16;
const CLUSTERS = 3;
/** Seconds of claims in one. */
const SPEED = 6;
/** Scaled: the longest time of a claim here, its evidence, a push, and tombstones. */
const DRAIN_MS = 120_000 + 330_000 + 180_000;

const options = historyOptions();

type Engine = { readonly endpoint: string; close(): Promise<unknown> };
const START: Readonly<Record<HistoryOptions['engines'][number], () => Promise<Engine>>> = {
  dynalite: () => startDynalite(),
  'dynamodb-local': startDynamoDbLocal,
};

// Each service process that is started has a listener for the end of this one.
process.setMaxListeners(0);

let failed = 0;
for (const name of options.engines) {
  const missing = name === 'dynamodb-local' ? javaIsMissing() : undefined;
  if (missing !== undefined) {
    console.log(`${name}: skipped (${missing}).`);
    continue;
  }
  const engine = await START[name]();
  const { seed } = options;
  try {
    const violations = options.contention
      ? await contend(engine.endpoint, seed)
      : await history(engine.endpoint, seed);
    console.log(`${name}, seed ${seed}: ${violations.length} violations`);
    for (const violation of violations.slice(0, 20)) console.log(`  ${violation}`);
    if (violations.length > 0 !== options.broken) failed++;
  } finally {
    await engine.close();
  }
}
console.log(`${failed === 0 ? 1 : 0} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

async function history(endpoint: string, seed: number): Promise<readonly string[]> {
  const source = new Random(seed);
  const random = (): number => source.next();
  const time = { beganMs: Date.now(), speed: SPEED };
  const now = scaledClock(time);
  const services = await Services.start({ endpoint, time, losesWrites: options.broken, random }, PROCESSES);
  const clusters = Array.from({ length: CLUSTERS }, (_, index) => new FakeCluster(`c${index}`, now));
  const tally = new Tally();
  let over = false;
  let agentsOver = false;
  const agents = clusters.map((cluster) => runAgent(cluster, services, now, random, () => agentsOver));
  const beganMs = performance.now();
  const enough = (): boolean =>
    options.operations === undefined
      ? performance.now() - beganMs > options.minutes * 60_000
      : services.requests >= options.operations;
  const killer = (async () => {
    while (!over) {
      await sleep(2_000 + 6_000 * random());
      if (!over) await services.kill();
    }
  })();
  const nodes = (async () => {
    while (!over) {
      await sleep((20_000 * random()) / SPEED);
      const cluster = clusters[Math.floor(random() * CLUSTERS)];
      const type = NODE_TYPES[Math.floor(random() * NODE_TYPES.length)];
      if (type !== undefined)
        cluster?.loseNode(type.id, Math.floor(random() * type.nodes), now() + 60_000 * random());
    }
  })();
  const watch = (async () => {
    while (
      !enough() &&
      tally.violations.length === 0 &&
      clusters.every(({ violations }) => violations.length === 0)
    )
      await sleep(200);
    over = true;
  })();
  const schedulers = Array.from({ length: SCHEDULERS }, (_, index) =>
    schedule(
      { services, clusters, speed: SPEED, now, random, tally, stopped: () => over },
      `s${seed}-${index}`,
    ),
  );
  await Promise.all([watch, nodes, killer, ...schedulers]);
  const left = await drain(endpoint, clusters, now);
  agentsOver = true;
  await Promise.all(agents);
  services.close();
  const starts = clusters.reduce((sum, cluster) => sum + cluster.starts, 0);
  console.log(
    `${services.requests} requests (${services.lost} lost), ${services.kills} kills, ${tally.accepted} accepted, ` +
      `${tally.refused} refused, ${tally.confirmed} confirmed, ${starts} chains started, ${tally.contention} contention`,
  );
  return [...tally.violations, ...clusters.flatMap(({ violations }) => violations), ...left];
}

/** With live agents and no caller every ledger is empty in the end. */
async function drain(
  endpoint: string,
  clusters: readonly FakeCluster[],
  now: () => number,
): Promise<readonly string[]> {
  const client = dynamoClient(endpoint);
  const ledgers = new LedgerStore(client, { name: 'Claims', shards: DEFAULT_SHARDS });
  const untilMs = now() + DRAIN_MS;
  for (;;) {
    const all = await Promise.all(clusters.map(({ id }) => ledgers.read(id)));
    const left = all.flatMap(({ clusterId, ledger }) => ledger.holds.map((hold) => ({ clusterId, hold })));
    if (left.length === 0 || now() >= untilMs) {
      client.destroy();
      return left.map(
        ({ clusterId, hold }) =>
          `${clusterId}: held for ever: ${JSON.stringify(hold, (_, v) => (typeof v === 'bigint' ? String(v) : v))}`,
      );
    }
    await sleep(200);
  }
}

/** An agent: looks, pushes late, repeats, and lets looks overtake one another. */
async function runAgent(
  cluster: FakeCluster,
  services: Services,
  now: () => number,
  random: () => number,
  isOver: () => boolean,
): Promise<void> {
  let counter = 0n;
  let token: string | undefined;
  const underWay = new Set<Promise<void>>();
  while (!isOver()) {
    // The token is older than the look, as the agent of the project has it.
    const headers = token === undefined ? {} : { 'resource-map-observed': token };
    const snapshot = {
      cluster: { clusterId: cluster.id },
      collectedAt: new Date(now()).toISOString(),
      logicalCounter: String(++counter),
      ...cluster.look(),
    };
    const push = (async () => {
      await sleep(random() * random() * 1_500);
      for (let attempt = 0; attempt < 20; attempt++) {
        const response = await services.once('PUT', `/v1/clusters/${cluster.id}/snapshot`, snapshot, {
          loses: 0.1,
          headers,
        });
        if (response !== undefined && response.status < 500) {
          token = response.headers.get('resource-map-observed') ?? token;
          const { code } = response.body ?? {};
          if (response.status >= 400 && code !== 'counter_regressed')
            cluster.violations.push(`A push was refused: ${JSON.stringify(response.body).slice(0, 600)}`);
          return;
        }
        await sleep(50 * random());
      }
    })();
    underWay.add(push);
    void push.finally(() => underWay.delete(push));
    await sleep(150 + 400 * random());
    if (underWay.size > 4) await Promise.race(underWay);
  }
  await Promise.all(underWay);
}

/** 16 writers on one ledger: how many give up, and how many attempts a claim takes. */
async function contend(endpoint: string, seed: number): Promise<readonly string[]> {
  const source = new Random(seed);
  const random = (): number => source.next();
  const time = { beganMs: Date.now(), speed: 1 };
  const services = await Services.start({ endpoint, time, losesWrites: options.broken, random }, PROCESSES);
  const cluster = new FakeCluster('busy', Date.now);
  const pushed = await services.until('PUT', '/v1/clusters/busy/snapshot', {
    cluster: { clusterId: 'busy' },
    collectedAt: new Date().toISOString(),
    logicalCounter: '1',
    ...cluster.look(),
  });
  if (pushed.status >= 400) throw new Error(JSON.stringify(pushed.body));
  let writes = 0;
  let gaveUp = 0;
  const untilMs = performance.now() + options.minutes * 60_000;
  await Promise.all(
    Array.from({ length: SCHEDULERS }, async (_, writer) => {
      while (performance.now() < untilMs) {
        const path = `/v1/claims/${newClaimId()}?cluster=busy`;
        const pods = [{ acceleratorModel: 'L4', acceleratorCount: 1 }];
        for (const [method, body] of [
          [
            'PUT',
            { jobId: `w${writer}`, ranks: [{ podRequirements: pods, chainIds: [`${writer}-${writes}`] }] },
          ],
          ['DELETE', undefined],
        ] as const) {
          const response = await services.once(method, path, body);
          writes++;
          if (response?.body?.code === 'contention') gaveUp++;
          else if (response === undefined || (response.status >= 400 && response.status !== 409))
            throw new Error(`${method}: ${response?.status} ${JSON.stringify(response?.body)}`);
        }
      }
    }),
  );
  services.close();
  const share = (100 * gaveUp) / writes;
  console.log(
    `${writes} writes of ${SCHEDULERS} writers over ${PROCESSES} processes, ${gaveUp} gave up (${share.toFixed(2)} %)`,
  );
  return share < 1 ? [] : [`${share.toFixed(2)} % of the writers gave up`];
}
