/** What wakes somebody, each alarm with what it means and what to look at first. */
import { Duration, Stack } from 'aws-cdk-lib';
import {
  Alarm,
  ComparisonOperator,
  type IMetric,
  MathExpression,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { Data } from './data.ts';
import type { HttpFront } from './http-front.ts';
import { ownMetric, tableThrottles } from './metrics.ts';
import type { ServiceFunctions } from './service-function.ts';
import type { Settings } from './settings.ts';
import { SWEEP_INTERVAL } from './sweeper.ts';

export interface AlarmsProps {
  readonly settings: Settings;
  readonly front: HttpFront;
  readonly functions: ServiceFunctions;
  readonly data: Data;
  readonly deadLetters: Queue;
}

/** One alarm. It goes off when `metric` is at or above `threshold` in `of` periods out of as many. */
interface Watch {
  readonly id: string;
  readonly metric: IMetric;
  readonly threshold: number;
  readonly periods: number;
  readonly means: string;
  /** Whether no data at all is a fault: where something has to report every minute. */
  readonly silenceIsFault?: true;
}

const ONE_MINUTE = Duration.minutes(1);
const FIVE_MINUTES = Duration.minutes(5);
const SWEEPS_MISSED = 5;

export class Alarms extends Construct {
  readonly topic: Topic;
  readonly alarms: readonly Alarm[];

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    this.topic = new Topic(this, 'Topic', {
      topicName: `resource-map-${props.settings.stage}-alarms`,
      displayName: `Resource Map ${props.settings.stage}`,
      enforceSSL: true,
    });
    // A topic with a policy of its own loses the one that let every service of the account publish.
    this.topic.addToResourcePolicy(
      new PolicyStatement({
        sid: 'AlarmsMayPublish',
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [this.topic.topicArn],
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    );
    if (props.settings.alarmEmail !== undefined) {
      this.topic.addSubscription(new EmailSubscription(props.settings.alarmEmail));
    }
    const action = new SnsAction(this.topic);
    this.alarms = watches(props).map((watch) => {
      const alarm = new Alarm(this, watch.id, {
        alarmName: `resource-map-${props.settings.stage}-${watch.id}`,
        alarmDescription: watch.means,
        metric: watch.metric,
        threshold: watch.threshold,
        comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        evaluationPeriods: watch.periods,
        // A paused stage is known not to answer.
        actionsEnabled: !props.settings.paused,
        treatMissingData: watch.silenceIsFault ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
      });
      alarm.addAlarmAction(action);
      alarm.addOkAction(action);
      return alarm;
    });
  }
}

function watches({ settings, front, functions, data, deadLetters }: AlarmsProps): readonly Watch[] {
  const lambdas = Object.entries(functions).map(([name, { lambda }]) => [name, lambda] as const);
  return [
    {
      id: 'ServerErrors',
      metric: front.api.metricServerError({ period: FIVE_MINUTES, statistic: 'Sum' }),
      threshold: 5,
      periods: 2,
      means:
        'Requests fail on our side. Agents send again, so nothing is lost yet, but clusters go stale. ' +
        'Look at the errors of the functions push, map and plan in their log groups.',
    },
    {
      id: 'FunctionThrottles',
      metric: sum(
        'Throttled invocations',
        lambdas.map(([name, lambda]) => [name, lambda.metricThrottles({ period: FIVE_MINUTES })]),
      ),
      threshold: 1,
      periods: 1,
      means:
        "Lambda turned invocations away. The account's concurrency is used up, by this or another stack; " +
        'raise the quota, or find who took it.',
    },
    {
      id: 'TableThrottles',
      // An alarm adds up ten metrics at most, so the table of bundles has one of its own.
      metric: sum(
        'Throttled requests',
        tableThrottles(data, FIVE_MINUTES).filter(([name]) => !name.startsWith('bundles')),
      ),
      threshold: 10,
      periods: 2,
      means:
        'DynamoDB turns requests away. A table on demand doubles within half an hour; if this lasts, ' +
        "many clusters may share too few shards, or the account's table quota is reached.",
    },
    {
      id: 'BundleTableThrottles',
      metric: sum(
        'Throttled requests for bundles',
        tableThrottles(data, FIVE_MINUTES).filter(([name]) => name.startsWith('bundles')),
      ),
      threshold: 10,
      periods: 2,
      means:
        'DynamoDB turns requests to the table of bundles away, so that bundles are placed late. All of them are in ' +
        'one partition: delete those that nobody needs, or have fewer clients list them.',
    },
    {
      id: 'NotifyLag',
      metric: functions.notify.lambda.metric('IteratorAge', { statistic: 'Maximum', period: ONE_MINUTE }),
      threshold: Duration.minutes(2).toMilliseconds(),
      periods: 5,
      means:
        'Changes are told minutes late. Look at the log of the function notify: EventBridge may be refusing, ' +
        'or a record may stop its shard. Nothing is lost for half a day.',
    },
    {
      id: 'DeadLetters',
      metric: deadLetters.metricApproximateNumberOfMessagesVisible({
        statistic: 'Maximum',
        period: FIVE_MINUTES,
      }),
      threshold: 1,
      periods: 1,
      means:
        'A change was not told, or a sweep not made. Read the message in the dead-letter queue: it names the ' +
        'cluster and the cause, or the records of the stream, which can be read for 24 hours.',
    },
    {
      id: 'OldestSnapshot',
      metric: ownMetric(settings.stage, 'OldestSnapshotAge', 'expire', {
        statistic: 'Maximum',
        period: ONE_MINUTE,
      }),
      // A silent cluster is taken out by the next sweep; five that were missed are a fault.
      threshold: settings.omitAfter + SWEEPS_MISSED * SWEEP_INTERVAL.toSeconds(),
      periods: SWEEPS_MISSED,
      silenceIsFault: true,
      means:
        'Silent clusters stay in the map, or the sweeper does not report. Schedulers may place work on what is ' +
        'long gone. Look at the log of the function expire, and whether its schedule is enabled.',
    },
    {
      id: 'HeadsUnreadable',
      metric: ownMetric(settings.stage, 'HeadsUnreadable', 'expire', {
        statistic: 'Maximum',
        period: FIVE_MINUTES,
      }),
      threshold: 1,
      periods: 1,
      means:
        'A head in the table cannot be read, so its cluster is not in the map: something other than this ' +
        'service wrote to the table. The logs of the function map name the cluster.',
    },
    {
      id: 'ClaimsBroken',
      metric: ownMetric(settings.stage, 'ClaimsBroken', 'notify', { statistic: 'Sum', period: FIVE_MINUTES }),
      threshold: 1,
      periods: 1,
      means:
        'A claim that was not confirmed lost its nodes, and another was accepted in its place. Its scheduler was told ' +
        'by the event Claim Broken; if it happens often, nodes go faster than schedulers decide.',
    },
    {
      id: 'ClaimsExpiredConfirmed',
      metric: ownMetric(settings.stage, 'ClaimsExpiredConfirmed', 'notify', {
        statistic: 'Sum',
        period: FIVE_MINUTES,
      }),
      threshold: 1,
      periods: 1,
      means:
        'A confirmed claim ended and its chains never showed: a decision that was handed over did not come true. The ' +
        'event Claim Expired names owner and job; look at whatever starts work there.',
    },
    {
      id: 'GoldBundlesUnplaced',
      metric: ownMetric(settings.stage, 'GoldBundlesUnplaced', 'plan', {
        statistic: 'Maximum',
        period: FIVE_MINUTES,
      }),
      threshold: 1,
      periods: 3,
      means:
        'A gold bundle has had no place for a quarter of an hour. GET /v1/bundles?band=gold&phase=pending names it ' +
        'with the reason in numbers: add nodes, widen its pool, or delete what is worth less.',
    },
    {
      id: 'BundlesStuckDeleting',
      metric: ownMetric(settings.stage, 'BundleDeletingAge', 'plan', {
        statistic: 'Maximum',
        period: FIVE_MINUTES,
      }),
      threshold: Duration.hours(1).toMilliseconds(),
      periods: 3,
      means:
        'A bundle has been in deleting for an hour: something of it still runs, or its cluster is silent. ' +
        'GET /v1/bundles?state=deleting says where; an admin removes it with DELETE and force=true.',
    },
    {
      id: 'BodiesMissing',
      metric: ownMetric(settings.stage, 'BodiesMissing', 'map', { statistic: 'Sum', period: FIVE_MINUTES }),
      threshold: 1,
      periods: 1,
      means:
        'A cluster was left out of the map because its body is not there or not whole. The next push that ' +
        'changes something fixes it; the log of the function map has the cluster and the cause.',
    },
  ];
}

function sum(label: string, metrics: readonly (readonly [string, IMetric])[]): MathExpression {
  const usingMetrics = Object.fromEntries(metrics);
  return new MathExpression({
    expression: Object.keys(usingMetrics).join(' + '),
    usingMetrics,
    label,
    period: FIVE_MINUTES,
  });
}
