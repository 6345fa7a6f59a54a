/** The app of the local service, which has every route there is, on stores that answer nothing. */
import { BUILT_IN_CATALOGUE } from '../../functions/bundle/catalogue.ts';
import type { App } from '../../functions/http/app.ts';
import { localApp } from '../../functions/local/app.ts';
import { LocalBus } from '../../functions/local/event-bus.ts';
import { ChangeSignal } from '../../functions/map/wait.ts';
import { dynamoClient, storeOn } from '../../functions/store/client.ts';
import { PoolStore } from '../../functions/store/pools.ts';
import { TrustStore } from '../../functions/store/trust-store.ts';
import { jsonLinesTelemetry } from '../../functions/telemetry.ts';

export function unconnectedApp(): App {
  const client = dynamoClient('http://127.0.0.1:1');
  return localApp({
    store: storeOn(client, { heads: 'heads', bodies: 'bodies', shards: 1 }),
    trust: new TrustStore(client, 'trust'),
    pools: new PoolStore(client, 'pools'),
    catalogue: BUILT_IN_CATALOGUE,
    access: { access: { kind: 'open' }, changed: () => undefined },
    loopback: false,
    bus: new LocalBus(),
    waiters: new ChangeSignal(),
    telemetry: jsonLinesTelemetry(() => undefined),
  });
}
