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
      metric: share('Failed requests, percent', 5, {
        part: front.api.metricServerError({ period: FIVE_MINUTES, statistic: 'Sum' }),
        whole: front.api.metricCount({ period: FIVE_MINUTES, statistic: 'Sum' }),
      }),
      threshold: 1,
      periods: 2,
      means:
        'One request in a hundred fails on our side, and five at least. Agents send again, so nothing is lost yet, but ' +
        'clusters go stale. Look at the errors of the functions push, map and plan in their log groups.',
    },
    {
      id: 'ClientErrors',
      metric: share('Requests refused, percent', 20, {
        part: front.api.metricClientError({ period: FIVE_MINUTES, statistic: 'Sum' }),
        whole: front.api.metricCount({ period: FIVE_MINUTES, statistic: 'Sum' }),
      }),
      threshold: 25,
      periods: 3,
      means:
        'One request in four is refused (4xx): expired tokens, or API Gateway throttles (429, which reaches no function). ' +
        'Look at the status in the access log, then at the widget "Refusals by code".',
    },
    {
      id: 'PushesRefused',
      metric: share('Pushes refused, percent', 5, {
        part: ownMetric(settings.stage, 'RequestsRefused', 'push', {
          statistic: 'Sum',
          period: FIVE_MINUTES,
        }),
        whole: functions.push.lambda.metricInvocations({ period: FIVE_MINUTES, statistic: 'Sum' }),
      }),
      threshold: 10,
      periods: 3,
      means:
        'One push in ten is refused, for a rule, a counter or a token, so these clusters will leave the map. Look at ' +
        '"Refusals by code"; `rmap clusters` shows whose, and why.',
    },
    {
      id: 'SlowRequests',
      metric: new MathExpression({
        expression: 'MAX([push, map, plan])',
        usingMetrics: Object.fromEntries(
          (['push', 'map', 'plan'] as const).map((name) => [
            name,
            functions[name].lambda.metricDuration({ period: FIVE_MINUTES, statistic: 'p99' }),
          ]),
        ),
        label: 'p99 of the slowest function, milliseconds',
        period: FIVE_MINUTES,
      }),
      threshold: Duration.seconds(5).toMilliseconds(),
      periods: 3,
      means:
        'One request in a hundred takes five seconds or more in a function (long polls are not counted). Look at the ' +
        'durations on the dashboard, and whether DynamoDB throttles or is slow.',
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
        'Changes are published minutes late. Look at the log of the function notify: EventBridge may be refusing, ' +
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
        'A change was not published, or a sweep not made. Read the message in the dead-letter queue: it names the ' +
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
      id: 'SweepFailures',
      metric: sum('Sweeps that failed', [
        [
          'failures',
          ownMetric(settings.stage, 'SweepFailures', 'expire', { statistic: 'Sum', period: FIVE_MINUTES }),
        ],
        ['errors', functions.expire.lambda.metricErrors({ statistic: 'Sum', period: FIVE_MINUTES })],
      ]),
      threshold: 3,
      periods: 2,
      means:
        'Sweeps fail again and again, so silent clusters may stay in the map. The log of the function expire names the ' +
        'shards and clusters, and the cause.',
    },
    {
      id: 'ClustersSilent',
      metric: new MathExpression({
        expression:
          'IF(FILL(omitted, 0) >= 2, 100 * FILL(omitted, 0) / (FILL(included, 0) + FILL(omitted, 0)), 0)',
        usingMetrics: {
          included: ownMetric(settings.stage, 'ClustersIncluded', 'expire', {
            statistic: 'Maximum',
            period: FIVE_MINUTES,
          }),
          omitted: ownMetric(settings.stage, 'ClustersOmitted', 'expire', {
            statistic: 'Maximum',
            period: FIVE_MINUTES,
          }),
        },
        label: 'Clusters out of the map, percent',
        period: FIVE_MINUTES,
      }),
      threshold: 20,
      periods: 1,
      means:
        'One cluster in five, and two at least, is out of the map; most fell silent if the widget "Left the map" says so. ' +
        'Where many go at once look for what they share: tokens that expired, throttling, the network. It ends when they ' +
        'push again, or are retired.',
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
      metric: sum(
        'Contents missing',
        CONTENT_READERS.map((name) => [
          name,
          ownMetric(settings.stage, 'BodiesMissing', name, { statistic: 'Sum', period: FIVE_MINUTES }),
        ]),
      ),
      threshold: 1,
      periods: 1,
      means:
        'A cluster was left out of the map because its body is not there or not whole. The next push that ' +
        'changes something fixes it; the logs of the functions map, wait and plan have the cluster and the cause.',
    },
  ];
}

/** Functions that read contents, and report those that are missing. */
const CONTENT_READERS = ['map', 'wait', 'plan'] as const;

/**
 * Percent of `whole` that `part` is, from `least` on: a share of a handful would wake somebody for a single request.
 * No data counts as none, as of a metric that is written only when something happens.
 */
function share(
  label: string,
  least: number,
  { part, whole }: { readonly part: IMetric; readonly whole: IMetric },
): MathExpression {
  return new MathExpression({
    expression: `IF(FILL(part, 0) >= ${least}, 100 * FILL(part, 0) / whole, 0)`,
    usingMetrics: { part, whole },
    label,
    period: FIVE_MINUTES,
  });
}

/** A sum in which no data counts as none: without FILL one metric that has none leaves the sum without a value. */
function sum(label: string, metrics: readonly (readonly [string, IMetric])[]): MathExpression {
  const usingMetrics = Object.fromEntries(metrics);
  return new MathExpression({
    expression: Object.keys(usingMetrics)
      .map((name) => `FILL(${name}, 0)`)
      .join(' + '),
    usingMetrics,
    label,
    period: FIVE_MINUTES,
  });
}
