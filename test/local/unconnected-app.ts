/** The app of the local service, which has every route there is, on stores that answer nothing. */
import { BUILT_IN_CATALOGUE } from '../../functions/core/bundle/model/catalogue.ts';
import type { App } from '../../functions/http/app.ts';
import { ChangeSignal } from '../../functions/http/wait.ts';
import { localApp } from '../../functions/local/app.ts';
import { LocalBus } from '../../functions/local/event-bus.ts';
import { jsonLinesTelemetry } from '../../functions/runtime/telemetry.ts';
import { dynamoClient, storeOn } from '../../functions/storage/client.ts';
import { LedgerStore } from '../../functions/storage/ledgers.ts';
import { PoolStore } from '../../functions/storage/pools.ts';
import { RegistrationStore } from '../../functions/storage/registrations.ts';

export function unconnectedApp(): App {
  const client = dynamoClient('http://127.0.0.1:1');
  return localApp({
    store: storeOn(client, { heads: 'heads', contents: 'bodies', shards: 1 }),
    trust: new RegistrationStore(client, 'trust'),
    ledgers: new LedgerStore(client, { name: 'claims', shards: 1 }),
    claimSettings: { maxClockAheadMs: 300_000, retireAfterMs: 86_400_000 },
    pools: new PoolStore(client, 'pools'),
    catalogue: BUILT_IN_CATALOGUE,
    access: { access: { kind: 'open' }, changed: () => undefined },
    loopback: false,
    bus: new LocalBus(),
    waiters: new ChangeSignal(),
    telemetry: jsonLinesTelemetry(() => undefined),
  });
}
