/** From the stream of the heads to the function that publishes what changed, and to the queue of what could not be published. */
import { Duration, RemovalPolicy, Validations } from 'aws-cdk-lib';
import { type EventBus, Rule } from 'aws-cdk-lib/aws-events';
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { EventSourceMapping, FilterCriteria, FilterRule, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import { SqsDlq } from 'aws-cdk-lib/aws-lambda-event-sources';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { DetailType } from '../functions/lambdas/notify/event.ts';
import { EVENT_SOURCE } from '../functions/lambdas/notify/event.ts';
import { HEAD_ATTRIBUTES } from '../functions/storage/head-item.ts';
import { HEADS_KEY } from '../functions/storage/tables.ts';
import type { Data } from './data.ts';
import type { ServiceFunction } from './service-function.ts';

export interface ChangeFeedProps {
  readonly data: Data;
  readonly notify: ServiceFunction;
  readonly bus: EventBus;
  readonly deadLetters: Queue;
  readonly announceRefreshes: boolean;
}

/** As many clusters as one invocation publishes in two rounds of calls. */
const BATCH_SIZE = 100;

/**
 * EventBridge may be away for hours: the stream keeps a record for 24, and what is still
 * unpublished after these, with time left to replay it by hand, goes to the dead letters.
 */
const MAX_RECORD_AGE = Duration.hours(12);

export class ChangeFeed extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { data, notify, bus, deadLetters, announceRefreshes }: ChangeFeedProps,
  ) {
    super(scope, id);
    const { heads, claims } = data.tables;
    if (heads.tableStreamArn === undefined || claims.tableStreamArn === undefined)
      throw new Error('The table of heads or that of claims has no stream.');
    notify.role.addToPolicy(
      new PolicyStatement({
        actions: ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator'],
        resources: [heads.tableStreamArn, claims.tableStreamArn],
      }),
    );
    // Lambda asks for it when it makes the mapping, and it knows no resources.
    notify.role.addToPolicy(new PolicyStatement({ actions: ['dynamodb:ListStreams'], resources: ['*'] }));
    notify.role.addToPolicy(
      new PolicyStatement({ actions: ['events:PutEvents'], resources: [bus.eventBusArn] }),
    );

    const source = {
      target: notify.lambda,
      // From the first record on: a push between the table's creation and the mapping's is published too.
      startingPosition: StartingPosition.TRIM_HORIZON,
      batchSize: BATCH_SIZE,
      // Several changes of one cluster within it become one event.
      maxBatchingWindow: Duration.seconds(1),
      reportBatchItemFailures: true,
      bisectBatchOnError: true,
      retryAttempts: 10_000,
      maxRecordAge: MAX_RECORD_AGE,
      onFailure: new SqsDlq(deadLetters),
    };
    new EventSourceMapping(this, 'Heads', {
      ...source,
      eventSourceArn: heads.tableStreamArn,
      filters: filters(announceRefreshes).map((pattern) => FilterCriteria.filter(pattern)),
    });
    new EventSourceMapping(this, 'Claims', {
      ...source,
      eventSourceArn: claims.tableStreamArn,
      // A ledger is removed empty.
      filters: [FilterCriteria.filter({ eventName: ['INSERT', 'MODIFY'] })],
    });

    // A change that is not readable is reported as such, and kept for an operator to look into.
    const unreadable: DetailType = 'Cluster Change Unreadable';
    new Rule(this, 'Unreadable', {
      description: 'Changes of the map that could not be read, to the dead letters',
      eventBus: bus,
      eventPattern: { source: [EVENT_SOURCE], detailType: [unreadable] },
      targets: [new SqsQueue(deadLetters)],
    });
  }
}

/** The queue of what was not told and not swept; whatever is in it, somebody has to look at. */
export class DeadLetters extends Construct {
  readonly queue: Queue;

  constructor(scope: Construct, id: string, { stage }: { readonly stage: string }) {
    super(scope, id);
    this.queue = new Queue(this, 'Queue', {
      queueName: `resource-map-${stage}-dead-letters`,
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
      removalPolicy: RemovalPolicy.DESTROY,
    });
    Validations.of(this.queue).acknowledge({
      id: 'AwsSolutions-SQS3',
      reason: 'It is a dead-letter queue itself, of a stream and of rules, which the check does not see.',
    });
  }
}

/**
 * The records that say that a cluster's state or content changed: a fleet's refreshes, nine
 * records of ten, cost no invocation. (A push that says its last counter again is let through
 * too, and is told nobody.) Retired marks and the floor lie in partitions that are not numbers.
 */
export function filters(announceRefreshes: boolean): readonly Record<string, unknown>[] {
  const a = HEAD_ATTRIBUTES;
  const Keys = { [HEADS_KEY.partition]: { S: [...'0123456789'].map((digit) => ({ prefix: digit })) } };
  if (announceRefreshes) return [{ dynamodb: { Keys } }];
  const isOmitted = { [a.omittedReason]: { S: FilterRule.exists() } };
  const isIncluded = { [a.omittedReason]: { S: FilterRule.notExists() } };
  return [
    // Content that came with this very counter.
    {
      eventName: ['INSERT', 'MODIFY'],
      dynamodb: { Keys, NewImage: { [a.sinceCounter]: { N: FilterRule.notExists() } } },
    },
    // Omitted.
    { dynamodb: { Keys, NewImage: isOmitted } },
    // Returned.
    { eventName: ['MODIFY'], dynamodb: { Keys, OldImage: isOmitted } },
    // Removed by hand: the sweeper removes what is omitted.
    { eventName: ['REMOVE'], dynamodb: { Keys, OldImage: isIncluded } },
  ];
}
