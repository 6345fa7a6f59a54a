/** One stage of the service, whole. */
import { type App, CfnOutput, Stack, Tags } from 'aws-cdk-lib';
import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Alarms } from './alarms.ts';
import type { Bundle } from './bundling.ts';
import { OperatorDashboard } from './dashboard.ts';
import { Data } from './data.ts';
import { ChangeBus } from './event-bus.ts';
import { FUNCTION_NAMES, type FunctionName } from './functions.ts';
import { HttpFront } from './http-front.ts';
import { ServiceFunction } from './service-function.ts';
import { SetOnce } from './set-once.ts';
import type { Settings } from './settings.ts';

export class ResourceMapStack extends Stack {
  /** @param bundles every function, built */
  constructor(app: App, settings: Settings, bundles: ReadonlyMap<FunctionName, Bundle>) {
    super(app, `ResourceMap-${settings.stage}`, {
      description: `Resource Map, stage ${settings.stage}`,
      terminationProtection: !settings.throwAway,
    });
    Tags.of(this).add('service', 'resource-map');
    Tags.of(this).add('stage', settings.stage);

    new SetOnce(this, 'Shards', {
      setting: 'shards',
      value: String(settings.shards),
      danger: 'Every cluster would be looked for in the wrong partition, and its counter could go back.',
    });
    const data = new Data(this, 'Data', settings);
    const { bus } = new ChangeBus(this, 'Changes', settings);
    const functions = new Map(
      FUNCTION_NAMES.map((name) => [
        name,
        new ServiceFunction(this, pascalCase(name), {
          function: name,
          stage: settings.stage,
          bundleFolder: folderOf(bundles, name),
          data,
          environment: {
            HEADS_TABLE: data.tables.heads.tableName,
            BODIES_TABLE: data.tables.bodies.tableName,
            HEAD_SHARDS: String(settings.shards),
          },
          logDays: settings.logDays as RetentionDays,
          paused: settings.paused,
        }),
      ]),
    );
    const front = new HttpFront(this, 'Http', { settings, functions });
    const alarms = new Alarms(this, 'Alarms', { settings, front, functions, data });
    new OperatorDashboard(this, 'Dashboard', { settings, front, functions, data, alarms });

    this.#output('Url', front.url, 'Where agents push and schedulers read');
    this.#output('BusName', bus.eventBusName, 'The event bus on which changes are told');
    this.#output('BusArn', bus.eventBusArn, 'Its ARN, for rules in other stacks and accounts');
    this.#output('HeadsTable', data.tables.heads.tableName, 'The table of cluster heads');
    this.#output('BodiesTable', data.tables.bodies.tableName, 'The table of snapshot bodies');
    this.#output('AlarmTopic', alarms.topic.topicArn, 'The topic to which alarms go');
    if (front.domain !== undefined) {
      this.#output(
        'DomainTarget',
        front.domain.regionalDomainName,
        'What the record of your domain points to',
      );
    }
  }

  #output(id: string, value: string, description: string): void {
    new CfnOutput(this, id, { value, description });
  }
}

function folderOf(bundles: ReadonlyMap<FunctionName, Bundle>, name: FunctionName): string {
  const bundle = bundles.get(name);
  if (bundle === undefined) throw new Error(`The function ${name} was not built.`);
  return bundle.folder;
}

function pascalCase(name: string): string {
  return `${name[0]?.toUpperCase()}${name.slice(1)}`;
}
