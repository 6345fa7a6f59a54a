/** The app of the local service, which has every route there is, on stores that answer nothing. */
import { BUILT_IN_CATALOGUE } from '../../functions/core/bundle/model/catalogue.ts';
import type { App } from '../../functions/http/app-env.ts';
import { ChangeSignal } from '../../functions/http/wait.ts';
import { BundleKeeper } from '../../functions/lambdas/plan/bundle-keeper.ts';
import { localApp } from '../../functions/local/app.ts';
import { LocalBus } from '../../functions/local/event-bus.ts';
import { jsonLinesTelemetry } from '../../functions/runtime/telemetry.ts';
import { BundleStore } from '../../functions/storage/bundles.ts';
import { dynamoClient, storeOn } from '../../functions/storage/client.ts';
import { LedgerStore } from '../../functions/storage/ledgers.ts';
import { PoolStore } from '../../functions/storage/pools.ts';
import { RegistrationStore } from '../../functions/storage/registrations.ts';

export function unconnectedApp(): App {
  const client = dynamoClient('http://127.0.0.1:1');
  const store = storeOn(client, { heads: 'heads', contents: 'bodies', shards: 1 });
  const ledgers = new LedgerStore(client, { name: 'claims', shards: 1 });
  const pools = new PoolStore(client, 'pools');
  const bundles = new BundleStore(client, 'bundles');
  const settings = { maxClockAheadMs: 300_000, retireAfterMs: 86_400_000 };
  const telemetry = jsonLinesTelemetry(() => undefined);
  const common = { store, ledgers, pools, bundles, catalogue: BUILT_IN_CATALOGUE, telemetry };
  return localApp({
    ...common,
    keeper: new BundleKeeper({ ...common, settings, now: Date.now }),
    trust: new RegistrationStore(client, 'trust'),
    claimSettings: settings,
    access: { access: { kind: 'open' }, changed: () => undefined },
    loopback: false,
    bus: new LocalBus(),
    waiters: new ChangeSignal(),
  });
}
