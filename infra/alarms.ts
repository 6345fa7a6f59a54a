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
import { Construct } from 'constructs';
import type { Data } from './data.ts';
import type { FunctionName } from './functions.ts';
import type { HttpFront } from './http-front.ts';
import { ownMetric, tableThrottles } from './metrics.ts';
import type { ServiceFunction } from './service-function.ts';
import type { Settings } from './settings.ts';

export interface AlarmsProps {
  readonly settings: Settings;
  readonly front: HttpFront;
  readonly functions: ReadonlyMap<FunctionName, ServiceFunction>;
  readonly data: Data;
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

const FIVE_MINUTES = Duration.minutes(5);

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
        treatMissingData: watch.silenceIsFault ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
      });
      alarm.addAlarmAction(action);
      alarm.addOkAction(action);
      return alarm;
    });
  }
}

function watches({ settings, front, functions, data }: AlarmsProps): readonly Watch[] {
  const lambdas = [...functions].map(([name, { lambda }]) => [name, lambda] as const);
  return [
    {
      id: 'ServerErrors',
      metric: front.api.metricServerError({ period: FIVE_MINUTES, statistic: 'Sum' }),
      threshold: 5,
      periods: 2,
      means:
        'Requests fail on our side. Agents send again, so nothing is lost yet, but clusters go stale. ' +
        'Look at the errors of the functions push and map in their log groups.',
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
      metric: sum('Throttled requests', tableThrottles(data, FIVE_MINUTES)),
      threshold: 10,
      periods: 2,
      means:
        'DynamoDB turns requests away. A table on demand doubles within half an hour; if this lasts, ' +
        "many clusters may share too few shards, or the account's table quota is reached.",
    },
    {
      id: 'BodiesMissing',
      metric: ownMetric(settings.stage, 'BodiesMissing', 'map', { statistic: 'Sum', period: FIVE_MINUTES }),
      threshold: 1,
      periods: 1,
      means:
        'A cluster was left out of the map because its body is not there or not whole. The next push that ' +
        'changes something mends it; the log of the function map has the cluster and the cause.',
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
