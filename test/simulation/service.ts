/** Instances of the service as processes that can be killed, and the network in front of them. */

import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createApp } from '../../functions/http/app.ts';
import type { App } from '../../functions/http/app-env.ts';
import { ChangeSignal } from '../../functions/http/wait.ts';
import { mapRoutes } from '../../functions/lambdas/map/routes.ts';
import { claimRoutes } from '../../functions/lambdas/plan/routes-claims.ts';
import { pushRoutes } from '../../functions/lambdas/push/routes.ts';
import type { Telemetry } from '../../functions/runtime/telemetry.ts';
import { storeOn } from '../../functions/storage/client.ts';
import type { Store } from '../../functions/storage/commit.ts';
import { CLAIMS_KEY, LedgerStore } from '../../functions/storage/ledgers.ts';
import { CONTENTS_KEY, CONTENTS_TTL, HEADS_KEY } from '../../functions/storage/tables.ts';
import { simulatedClient } from './database.ts';
import type { DynamoDbModel, TableShape } from './dynamodb-model.ts';
import type { Faults } from './faults.ts';
import type { Process, World } from './world.ts';

export const TABLES = { heads: 'Heads', contents: 'Contents', shards: 2 } as const;

export const CLAIMS = { name: 'Claims', shards: TABLES.shards } as const;

/** The table of heads as it was at an earlier time, which DynamoDB restores under another name. */
export const RESTORED_HEADS = 'HeadsRestored';

export const SHAPES: Readonly<Record<string, TableShape>> = {
  [TABLES.heads]: { ...HEADS_KEY, stream: true },
  [RESTORED_HEADS]: HEADS_KEY,
  [CLAIMS.name]: CLAIMS_KEY,
  [TABLES.contents]: { ...CONTENTS_KEY, ttl: CONTENTS_TTL },
};

const CACHE_BYTES = 4 * 1024 * 1024;

interface Instance extends Process {
  readonly app: App;
  readonly store: Store;
}

export class Service {
  readonly instances: Instance[] = [];
  /** Errors that no caller may cause: what the log has at level error, apart from the store being away. */
  readonly errors: string[] = [];
  #started = 0;
  #paused = false;

  constructor(
    private readonly world: World,
    private readonly model: DynamoDbModel,
    private readonly faults: Faults,
    private readonly count: number,
  ) {
    for (let i = 0; i < count; i++) this.#start();
  }

  /** Kills one at random, wherever it is, and starts another with empty caches a little later. */
  restartOne(): void {
    const victim = this.world.random01.pick(this.instances);
    victim.alive = false;
    this.world.note(`${victim.name} is killed`);
    this.instances.splice(this.instances.indexOf(victim), 1);
    this.world.schedule(this.world.random01.integer(0, 500), this.world.nature, () => this.#start());
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Ends every instance, and starts none until `resume`. */
  pause(): void {
    this.#paused = true;
    for (const instance of this.instances.splice(0)) instance.alive = false;
    this.world.note('The service is paused.');
  }

  resume(): void {
    this.#paused = false;
    this.world.note('The service is resumed.');
    for (let i = 0; i < this.count; i++) this.#start();
  }

  /** What a process that is no instance sends to the database, as an operator's command. */
  client(): DynamoDBClient {
    return simulatedClient(this.world, this.model, this.faults);
  }

  /** A store for a process that is no instance: the sweeper. */
  storeFor(): Store {
    return storeOn(this.client(), TABLES);
  }

  /** `fetch` of a client process. */
  readonly fetch = (url: string | URL | Request, init: RequestInit = {}): Promise<Response> =>
    new Promise((resolve, reject) => {
      const caller = this.world.current;
      init.signal?.addEventListener('abort', () => reject(init.signal?.reason), { once: true });
      const fate = this.faults.request();
      if (fate === 'request lost') {
        this.world.note(`${caller.name}: request lost`);
        this.world.schedule(this.faults.latencyMs(), caller, () => reject(new TypeError('fetch failed')));
        return;
      }
      const answer = (response: Response, body: ArrayBuffer): void => {
        if (fate === 'response lost') {
          this.world.note(`${caller.name}: response ${response.status} lost`);
          this.world.schedule(this.faults.latencyMs(), caller, () => reject(new TypeError('fetch failed')));
          return;
        }
        this.world.schedule(this.faults.latencyMs(), caller, () =>
          resolve(new Response([204, 304].includes(response.status) ? null : body, response)),
        );
      };
      this.world.schedule(this.faults.latencyMs(), this.world.nature, () => {
        if (this.instances.length === 0) return;
        const instance = this.world.random01.pick(this.instances);
        this.world.schedule(0, instance, () => {
          this.faults.operations++;
          const { signal: _, ...rest } = init;
          void (async () => {
            const response = await instance.app.request(String(url), rest);
            answer(response, await response.arrayBuffer());
          })();
        });
      });
    });

  #start(): void {
    if (this.#paused) return;
    const { world } = this;
    const name = `instance ${++this.#started}`;
    const telemetry: Telemetry = {
      warn: () => undefined,
      error: (message, { cause }) => {
        const text = `${message}: ${cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)}`;
        if (!/timed out|throttled|StoreUnavailable|unprocessed/.test(text)) this.errors.push(text);
      },
      count: () => undefined,
      gauge: () => undefined,
    };
    const app = createApp(telemetry, { kind: 'open' });
    const store = storeOn(simulatedClient(world, this.model, this.faults), TABLES);
    const common = { telemetry, now: Date.now, store };
    pushRoutes(app, common);
    mapRoutes(app, { ...common, cacheBytes: CACHE_BYTES });
    claimRoutes(app, {
      ...common,
      ledgers: new LedgerStore(simulatedClient(world, this.model, this.faults), CLAIMS),
      settings: { maxClockAheadMs: 300_000, retireAfterMs: 86_400_000 },
      changes: new ChangeSignal(),
    });
    this.instances.push({ name, alive: true, skewMs: world.random01.integer(-200, 200), app, store });
    world.note(`${name} starts`);
  }
}
