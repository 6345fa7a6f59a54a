/** Lambda entry: the consumer of the streams of ClusterHeads and Claims. */
import type { DynamoDBStreamEvent } from 'aws-lambda';
import { notifyFromEnvironment } from '../../runtime/settings.ts';
import { emfTelemetry } from '../../runtime/telemetry-emf.ts';
import { dynamoClient } from '../../storage/client.ts';
import { ContentStore } from '../../storage/contents.ts';
import { announcer } from './announce.ts';
import { claimAnnouncer } from './announce-claims.ts';
import { eventBridgeClient } from './client.ts';
import { EventPublisher } from './publisher.ts';

const { busName, announceRefreshes, claimsTable, tables } = notifyFromEnvironment(process.env);

const common = {
  publisher: new EventPublisher(eventBridgeClient(process.env.EVENTBRIDGE_ENDPOINT), busName),
  telemetry: emfTelemetry('notify'),
  now: Date.now,
};
const client = dynamoClient(process.env.DYNAMODB_ENDPOINT);
const announceHeads = announcer({ ...common, announceRefreshes, contents: new ContentStore(client, tables) });
const announceClaims = claimAnnouncer(common);

/** A batch is of one stream, whose ARN names the table. */
export function handler(event: DynamoDBStreamEvent) {
  const isOfClaims = event.Records[0]?.eventSourceARN?.includes(`:table/${claimsTable}/`) === true;
  return isOfClaims ? announceClaims(event) : announceHeads(event);
}
