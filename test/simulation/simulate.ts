/** One seed: a world, its faults, its end, and what is wrong with it. */

import { MapReplica } from '../../functions/client/replica.ts';
import { sweep } from '../../functions/lambdas/expire/sweep.ts';
import { CLAIMED_CLUSTER, ClaimedCluster, ClaimedClusterAgent, Scheduler } from './claims.ts';
import { Agent, clientOf, omit, pull, read, repeat } from './clients.ts';
import { DynamoDbModel } from './dynamodb-model.ts';
import { EventPath } from './events.ts';
import { Faults } from './faults.ts';
import type { Entry } from './history.ts';
import { faultsOf } from './judge.ts';
import { planRestoration } from './restoration.ts';
import { Service, SHAPES, TABLES } from './service.ts';
import { variantOf } from './snapshots.ts';
import { type Process, World } from './world.ts';
import { CLUSTERS as WRITTEN_BEFORE, writeBefore } from './written-before.ts';

export interface Outcome {
  readonly seed: number;
  /** Requests that reached an instance, the database or the bus. */
  readonly operations: number;
  /** Pushes that were acknowledged: a world in which nothing succeeds proves nothing. */
  readonly acknowledged: number;
  /** Claims that were acknowledged, and jobs that were started on them. */
  readonly claims: number;
  readonly jobsStarted: number;
  readonly restarts: number;
  readonly wrongs: readonly string[];
  readonly story: readonly string[];
}

/** Silence after which a cluster is omitted, and absence after which it is retired, in simulated time. */
const MEMBERSHIP = { omitAfterMs: 20_000, retireAfterMs: 240_000 } as const;
/** How many times longer everything takes in a slow world. */
const SLOW = 12;
/** Four tries of a client, each with its timeout and its pause. */
const LONGEST_CALL_MS = 200_000;
/** What an instance logs of a cluster whose content is gone. */
const CONTENT_LOST = / is not there or not whole\.$/;
const QUIET = {
  warn: () => undefined,
  error: () => undefined,
  count: () => undefined,
  gauge: () => undefined,
};

/** @param untilMs simulated time that faults last; a shorter one shows how little it takes */
export async function simulate(seed: number, tellsStory = false, untilMs = 60_000): Promise<Outcome> {
  const world = new World(seed, tellsStory);
  const { random01 } = world;
  const faults = new Faults(world);
  const model = new DynamoDbModel(SHAPES, faults);
  const history: Entry[] = [];
  let service: Service | undefined;
  // Whatever is made may ask for the time and for chance, which only a running world has.
  world.schedule(0, world.nature, () => {
    service = new Service(world, model, faults, random01.integer(1, 3));
  });
  await world.run(0);
  if (service === undefined) throw new Error('The service was not started.');
  const deps = { world, service, history };
  const events = new EventPath(world, model, faults);

  // Most worlds are busy; in a slow one clusters are away for long enough to be retired.
  const pace = random01.pick([1, 1, SLOW]);
  /** All agents of a cluster fall silent at once, so that it is omitted, and in a slow world retired. */
  const silentUntilMs = new Map<string, number>();
  let ending = false;
  const process = (name: string): Process => ({ name, alive: true, skewMs: random01.integer(-100, 100) });
  // Some worlds begin with what an older version wrote.
  const isOld = random01.chance(0.15);
  const clusterIds = (isOld ? random01.shuffled(WRITTEN_BEFORE) : ['a', 'b', 'c']).slice(
    0,
    random01.integer(1, 3),
  );
  if (isOld) history.push(...writeBefore(model, clusterIds));
  // In some the table of heads is lost once, and restored.
  if (random01.chance(0.15))
    planRestoration({ ...deps, model }, (0.3 + random01.next() * 0.5) * untilMs * pace);
  const agents = clusterIds.flatMap((clusterId) =>
    Array.from({ length: random01.pick([1, 1, 2]) }, (_, i) => {
      const by = process(`agent ${i + 1} of ${clusterId}`);
      return new Agent(deps, by, clusterId);
    }),
  );
  for (const agent of agents) {
    const meanMs = random01.pick([300, 1_000, 3_000]) * pace;
    const step = async (): Promise<void> => {
      if (world.nowMs >= (silentUntilMs.get(agent.clusterId) ?? 0)) await agent.step();
    };
    repeat(world, agent.process, meanMs, () => ending, step);
  }
  for (let i = 1; i <= 2; i++) {
    const by = process(`reader ${i}`);
    const client = clientOf(deps);
    repeat(
      world,
      by,
      800 * pace,
      () => ending,
      () => read(deps, by, client, clusterIds),
    );
  }
  const operator = process('operator');
  const operatorClient = clientOf(deps);
  repeat(
    world,
    operator,
    15_000 * pace,
    () => ending,
    () => omit(deps, operator, operatorClient, random01.pick(clusterIds)),
  );
  const replicas = [1, 2].map((i) => {
    const by = process(`replica ${i}`);
    const replica = new MapReplica(clientOf(deps), { maxBytes: random01.pick([100, 1_000, 1_000_000]) });
    repeat(
      world,
      by,
      // One that asks rarely misses what comes and goes meanwhile.
      random01.pick([1_500, 15_000]) * pace,
      () => ending,
      async () => {
        await pull(deps, by, replica);
      },
    );
    return { by, replica };
  });
  const sweeper = process('sweeper');
  const { heads } = service.storeFor();
  repeat(
    world,
    sweeper,
    10_000,
    () => ending,
    async () => {
      if (service?.paused === true) return;
      await sweep({ heads, shards: TABLES.shards, telemetry: QUIET }, MEMBERSHIP, Date.now());
    },
  );
  // In some worlds schedulers claim the capacity of a cluster of their own.
  const claiming = random01.chance(0.3) ? new ClaimedCluster(world, random01.pick([1, 2, 4, 8])) : undefined;
  const schedulers: Scheduler[] = [];
  const claimedAgent = claiming && new ClaimedClusterAgent(deps, claiming);
  const claimedAgentProcess = process(`agent of ${CLAIMED_CLUSTER}`);
  let claimingEnds = false;
  if (claiming !== undefined && claimedAgent !== undefined) {
    repeat(
      world,
      claimedAgentProcess,
      2_000,
      () => claimingEnds,
      async () => {
        await claimedAgent.step();
      },
    );
    for (let i = 1; i <= random01.integer(3, 8); i++) {
      const scheduler = new Scheduler(deps, process(`scheduler ${i}`), claiming);
      schedulers.push(scheduler);
      repeat(
        world,
        scheduler.process,
        1_000,
        () => ending,
        () => scheduler.step(),
      );
    }
  }

  let restarts = 0;
  const fate = process('fate');
  repeat(
    world,
    fate,
    random01.pick([3_000, 20_000]) * pace,
    () => ending,
    async () => {
      restarts++;
      if (random01.chance(0.3))
        silentUntilMs.set(random01.pick(clusterIds), world.nowMs + random01.integer(20_000, 40_000) * pace);
      events.busAway = random01.chance(0.2);
      if (random01.chance(0.3)) events.kill();
      else if (deps.service.instances.length > 0) deps.service.restartOne();
    },
  );

  // In a few worlds the storage loses contents: the cluster is left out of the map until its content changes.
  const losesContents = random01.chance(0.15);
  if (losesContents)
    repeat(
      world,
      fate,
      15_000,
      () => ending,
      async () => {
        for (const item of model.items(TABLES.contents)) model.lose(TABLES.contents, item);
        world.note('Every content is lost.');
      },
    );

  await world.run(untilMs * pace);

  // The world turns kind, and everything must come right.
  ending = true;
  faults.on = false;
  events.busAway = false;
  world.note('The world turns kind.');
  // A request to a process that was killed is given up after 30 s and sent again, an operator's too.
  await world.run(world.nowMs + LONGEST_CALL_MS);
  const wrongs: string[] = [];
  let settled = 0;
  const finished = (): void => {
    settled++;
  };
  const settle = async (work: () => Promise<void>, by: Process): Promise<void> => {
    const before = settled;
    world.schedule(
      10_000,
      by,
      () =>
        void work()
          .catch((error) => wrongs.push(`${by.name} failed in a kind world: ${String(error)}`))
          .then(finished),
    );
    await world.run(world.nowMs + 120_000, () => settled > before);
    if (settled === before) wrongs.push(`${by.name} came to no end in a kind world.`);
  };
  for (const agent of agents) {
    await settle(async () => {
      if (!(await agent.insist(losesContents)))
        wrongs.push(`${agent.process.name} could not push in a kind world.`);
    }, agent.process);
  }
  if (claiming !== undefined && claimedAgent !== undefined) {
    // Longer than any claim lives, and than a job that was started on it can take to show.
    await world.run(world.nowMs + 300_000);
    claimingEnds = true;
    for (let i = 0; i < 2; i++)
      await settle(async () => void (await claimedAgent.step()), claimedAgentProcess);
    const [scheduler] = schedulers;
    if (scheduler !== undefined)
      await settle(async () => {
        for (const claim of await scheduler.live()) wrongs.push(`${claim} is held for ever.`);
      }, scheduler.process);
  }
  const last = process('last reader');
  const client = clientOf(deps);
  let etag = '';
  await settle(async () => {
    const response = await client.map();
    if (response.kind !== 'map') return;
    etag = response.etag.replace(/\.\w+"$/, '"');
    const included = response.map.clusterResourceMaps.map((each) => each.cluster?.clusterId ?? '');
    for (const clusterId of clusterIds)
      if (!included.includes(clusterId)) wrongs.push(`${clusterId} is not in the map at the end.`);
    for (const snapshot of response.map.clusterResourceMaps) {
      const newest = history.findLast(
        (entry) => entry.kind === 'push acknowledged' && entry.clusterId === snapshot.cluster?.clusterId,
      );
      if (newest?.kind === 'push acknowledged' && newest.variant !== variantOf(snapshot))
        wrongs.push(
          `${newest.clusterId} has content ${variantOf(snapshot)} at the end, not ${newest.variant}.`,
        );
    }
  }, last);
  for (const { by, replica } of replicas) {
    await settle(async () => {
      if (!(await pull(deps, by, replica))) wrongs.push(`${by.name} could not be completed in a kind world.`);
      const clock = [...replica.clock.keys()].sort();
      for (const clusterId of clusterIds)
        if (!clock.includes(clusterId)) wrongs.push(`${by.name} lacks ${clusterId} at the end.`);
    }, by);
  }
  if (etag === '') wrongs.push('The map could not be read in a kind world.');
  await world.run(world.nowMs + 300_000, () => events.idle);
  if (!events.idle) wrongs.push('The stream was not consumed to its end in a kind world.');

  return {
    seed,
    operations: faults.operations,
    claims: schedulers.reduce((sum, { accepted }) => sum + accepted, 0),
    jobsStarted: claiming?.started ?? 0,
    acknowledged: history.filter(({ kind }) => kind === 'push acknowledged').length,
    restarts,
    wrongs: [
      ...wrongs,
      ...service.errors
        .filter((error) => !losesContents || !CONTENT_LOST.test(error))
        .map((error) => `An instance failed: ${error}`),
      ...faultsOf(history),
      ...events.wrongs(),
    ],
    story: world.story,
  };
}
