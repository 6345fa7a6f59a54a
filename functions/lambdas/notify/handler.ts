/** Lambda entry: the consumer of ClusterHeads' stream. */
import { notifyFromEnvironment } from '../../runtime/settings.ts';
import { emfTelemetry } from '../../runtime/telemetry-emf.ts';
import { announcer } from './announce.ts';
import { eventBridgeClient } from './client.ts';
import { EventPublisher } from './publisher.ts';

const { busName, announceRefreshes } = notifyFromEnvironment(process.env);

export const handler = announcer({
  publisher: new EventPublisher(eventBridgeClient(process.env.EVENTBRIDGE_ENDPOINT), busName),
  telemetry: emfTelemetry('notify'),
  announceRefreshes,
  now: Date.now,
});
