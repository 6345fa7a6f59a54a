/**
 * One page that answers, from the top down, what somebody woken at night asks: is anything
 * wrong, is the map true, do agents get through, do schedulers get answers, are changes published,
 * and what is running up against a limit.
 */
import { Duration } from 'aws-cdk-lib';
import {
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  LogQueryVisualizationType,
  LogQueryWidget,
  MathExpression,
  PeriodOverride,
  TextWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { Alarms } from './alarms.ts';
import type { Data } from './data.ts';
import type { FunctionName } from './functions.ts';
import type { HttpFront } from './http-front.ts';
import { metricsNamespace, ownMetric, tableThrottles } from './metrics.ts';
import type { ServiceFunctions } from './service-function.ts';
import type { Settings } from './settings.ts';

export interface OperatorDashboardProps {
  readonly settings: Settings;
  readonly front: HttpFront;
  readonly functions: ServiceFunctions;
  readonly data: Data;
  readonly deadLetters: Queue;
  readonly alarms: Alarms;
}

const PERIOD = Duration.minutes(1);
/** Columns of a dashboard, and of the widgets in a row of three. */
const FULL = 24;
const THIRD = 8;

export class OperatorDashboard extends Construct {
  constructor(scope: Construct, id: string, props: OperatorDashboardProps) {
    super(scope, id);
    const dashboard = new Dashboard(this, 'Dashboard', {
      dashboardName: `resource-map-${props.settings.stage}`,
      defaultInterval: Duration.hours(3),
      periodOverride: PeriodOverride.AUTO,
    });
    const rows: readonly (readonly IWidget[])[] = [
      [alarmRow(props)],
      heading(
        'Is the map true?',
        'A cluster that is silent is taken out; nothing in the map is older than that.',
      ),
      truthRow(props),
      heading(
        'Do agents get through?',
        'A push that fails is sent again; a cluster that stays away goes stale.',
      ),
      pushRow(props),
      heading(
        'Do schedulers get answers?',
        'A cluster without a body is left out of the map, and the rest is served.',
      ),
      readRow(props),
      heading(
        'Are changes published?',
        'What is late is kept for half a day; what is in the dead letters needs somebody.',
      ),
      changeRow(props),
      heading(
        'Do claims come true?',
        'A confirmed claim that expires is work that was never started; a broken one lost its nodes.',
      ),
      claimRow(props),
      heading('What runs up against a limit?', 'Throttles here are refusals there.'),
      limitRow(props),
      [errorLog(props)],
    ];
    for (const row of rows) dashboard.addWidgets(...row);
  }
}

function alarmRow({ settings, front, alarms }: OperatorDashboardProps): IWidget {
  return new AlarmStatusWidget({
    title: `Resource Map ${settings.stage}: ${front.url}`,
    alarms: [...alarms.alarms],
    width: FULL,
    height: 3,
  });
}

function truthRow({ settings }: OperatorDashboardProps): readonly IWidget[] {
  const swept = (metric: string, statistic: string, label: string): IMetric =>
    ownMetric(settings.stage, metric, 'expire', { statistic, period: PERIOD, label });
  return [
    graph('Clusters', [
      swept('ClustersIncluded', 'Maximum', 'in the map'),
      swept('ClustersOmitted', 'Maximum', 'out of it'),
    ]),
    graph('Age of the oldest snapshot, seconds', [swept('OldestSnapshotAge', 'Maximum', 'oldest')]),
    graph('Left the map', [
      swept('ClustersFellSilent', 'Sum', 'fell silent'),
      swept('ClustersRetired', 'Sum', 'retired'),
      swept('HeadsUnreadable', 'Maximum', 'unreadable'),
      swept('SweepFailures', 'Sum', 'not swept'),
    ]),
  ];
}

function changeRow({ settings, functions, deadLetters }: OperatorDashboardProps): readonly IWidget[] {
  const reported = (metric: string, statistic: string, label: string): IMetric =>
    ownMetric(settings.stage, metric, 'notify', { statistic, period: PERIOD, label });
  return [
    graph('Events', [
      reported('EventsSent', 'Sum', 'sent'),
      reported('EventsFailed', 'Sum', 'failed, to be sent again'),
      reported('ChangesUnreadable', 'Sum', 'unreadable'),
    ]),
    graph('From change to event, milliseconds', [
      reported('NotifyLag', 'Maximum', 'slowest of a batch'),
      functions.notify.lambda.metric('IteratorAge', {
        statistic: 'Maximum',
        period: PERIOD,
        label: 'age of the stream',
      }),
    ]),
    graph('Dead letters', [
      deadLetters.metricApproximateNumberOfMessagesVisible({ statistic: 'Maximum', period: PERIOD }),
    ]),
  ];
}

function pushRow({ settings, front, functions }: OperatorDashboardProps): readonly IWidget[] {
  const push = functions.push.lambda;
  return [
    graph('Pushes by outcome', bySearch(settings.stage, 'Pushes', 'outcome')),
    graph('Refusals by code', bySearch(settings.stage, 'Refused', 'code')),
    graph(
      'Time of a push',
      push === undefined
        ? []
        : percentiles((statistic) => push.metricDuration({ statistic, period: PERIOD })),
    ),
    graph('Answers', [
      front.api.metricCount({ period: PERIOD, label: 'all' }),
      front.api.metricClientError({ period: PERIOD, label: 'refused (4xx)' }),
      front.api.metricServerError({ period: PERIOD, label: 'failed (5xx)' }),
    ]),
    graph(
      'Time to the answer',
      percentiles((statistic) => front.api.metricLatency({ statistic, period: PERIOD })),
    ),
    graph(
      'Functions that failed',
      Object.entries(functions).map(([name, { lambda }]) =>
        lambda.metricErrors({ period: PERIOD, label: name }),
      ),
    ),
  ];
}

function readRow({ settings, functions }: OperatorDashboardProps): readonly IWidget[] {
  const map = functions.map.lambda;
  return [
    graph('Bodies missing', [
      ownMetric(settings.stage, 'BodiesMissing', 'map', { statistic: 'Sum', period: PERIOD }),
    ]),
    graph(
      'Time of a read',
      percentiles((statistic) => map.metricDuration({ statistic, period: PERIOD })),
    ),
    graph(
      'Running at once',
      Object.entries(functions).map(([name, { lambda }]) =>
        lambda.metric('ConcurrentExecutions', { statistic: 'Maximum', period: PERIOD, label: name }),
      ),
    ),
  ];
}

function claimRow({ settings }: OperatorDashboardProps): readonly IWidget[] {
  const metric = (name: string, service: FunctionName, statistic: string, label: string): IMetric =>
    ownMetric(settings.stage, name, service, { statistic, period: PERIOD, label });
  return [
    graph('Claims', [
      metric('ClaimsLive', 'sweep', 'Maximum', 'live'),
      metric('ClaimsLapsed', 'sweep', 'Maximum', 'past their time'),
      metric('ClaimsAccepted', 'plan', 'Sum', 'accepted'),
      metric('ClaimConflicts', 'plan', 'Sum', 'lost races'),
    ]),
    graph('Claims refused by code', bySearch(settings.stage, 'ClaimsRefused', 'code')),
    graph('Claims that did not come true', [
      metric('ClaimsExpiredConfirmed', 'notify', 'Sum', 'confirmed, and expired'),
      metric('ClaimsBroken', 'notify', 'Sum', 'broken'),
      metric('ClaimSweepFailures', 'sweep', 'Sum', 'not swept'),
    ]),
    graph('Claimed accelerators', [metric('ClaimedAccelerators', 'sweep', 'Maximum', 'claimed')]),
    graph('From acceptance to fulfilment, milliseconds', [
      metric('ClaimToFulfilled', 'notify', 'Average', 'on average'),
      metric('ClaimToFulfilled', 'notify', 'Maximum', 'slowest'),
    ]),
    graph('Largest ledger, bytes', [metric('LargestLedger', 'sweep', 'Maximum', 'largest')]),
  ];
}

function limitRow({ functions, data }: OperatorDashboardProps): readonly IWidget[] {
  return [
    graph(
      'Units of the tables',
      Object.entries(data.tables).flatMap(([name, table]) => [
        table.metricConsumedReadCapacityUnits({ period: PERIOD, statistic: 'Sum', label: `${name}, read` }),
        table.metricConsumedWriteCapacityUnits({
          period: PERIOD,
          statistic: 'Sum',
          label: `${name}, written`,
        }),
      ]),
    ),
    graph(
      'Throttled by DynamoDB',
      tableThrottles(data, PERIOD).map(([, metric]) => metric),
    ),
    graph(
      'Throttled by Lambda',
      Object.entries(functions).map(([name, { lambda }]) =>
        lambda.metricThrottles({ period: PERIOD, label: name }),
      ),
    ),
  ];
}

function errorLog({ functions }: OperatorDashboardProps): IWidget {
  return new LogQueryWidget({
    title: 'The last errors, of all functions',
    logGroupNames: Object.values(functions).map(({ logGroup }) => logGroup.logGroupName),
    view: LogQueryVisualizationType.TABLE,
    queryLines: [
      'fields @timestamp, @log, message, cause, requestId, clusterId, @message',
      'filter level like /(?i)error/',
      'sort @timestamp desc',
      'limit 20',
    ],
    width: FULL,
    height: 6,
  });
}

function heading(request: string, note: string): readonly IWidget[] {
  return [new TextWidget({ markdown: `## ${request}\n${note}`, width: FULL, height: 2 })];
}

function graph(title: string, left: readonly IMetric[]): GraphWidget {
  return new GraphWidget({
    title,
    left: [...left],
    width: THIRD,
    height: 6,
    period: PERIOD,
    leftYAxis: { min: 0, showUnits: false },
  });
}

/** One line for every value that a dimension has had: which there are, only the code knows. */
function bySearch(stage: string, metric: string, dimension: string): readonly IMetric[] {
  const schema = `{"${metricsNamespace(stage)}",service,${dimension}}`;
  return [
    new MathExpression({
      expression: `SEARCH('${schema} MetricName="${metric}"', 'Sum', ${PERIOD.toSeconds()})`,
      label: '',
      period: PERIOD,
    }),
  ];
}

function percentiles(of: (statistic: string) => IMetric): readonly IMetric[] {
  return ['p50', 'p99', 'Maximum'].map(of);
}
