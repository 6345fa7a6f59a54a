/** One stage of the service, whole. */
import { type App, CfnOutput, Stack, Tags } from 'aws-cdk-lib';
import type { EventBus } from 'aws-cdk-lib/aws-events';
import { Alarms } from './alarms.ts';
import { BundleRounds } from './bundle-rounds.ts';
import type { Bundle } from './bundling.ts';
import { CATALOGUE_FILE } from './catalogue-file.ts';
import { ChangeFeed, DeadLetters } from './change-feed.ts';
import { OperatorDashboard } from './dashboard.ts';
import { Data } from './data.ts';
import { ChangeBus } from './event-bus.ts';
import { FUNCTION_NAMES, type FunctionName } from './functions.ts';
import { HttpFront } from './http-front.ts';
import { metricsNamespace } from './metrics.ts';
import { ServiceFunction, type ServiceFunctions } from './service-function.ts';
import { SetOnce } from './set-once.ts';
import type { Settings } from './settings.ts';
import { Sweeper } from './sweeper.ts';

export class ResourceMapStack extends Stack {
  /** @param bundles every function, built */
  constructor(app: App, settings: Settings, bundles: ReadonlyMap<FunctionName, Bundle>) {
    super(app, `ResourceMap-${settings.stage}`, {
      description: `Resource Map, stage ${settings.stage}`,
      ...(settings.env === undefined ? {} : { env: settings.env }),
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
    const deadLetters = new DeadLetters(this, 'DeadLetters', settings).queue;
    const make = (name: FunctionName): ServiceFunction =>
      new ServiceFunction(this, pascalCase(name), {
        function: name,
        stage: settings.stage,
        bundleFolder: folderOf(bundles, name),
        data,
        environment: {
          METRICS_NAMESPACE: metricsNamespace(settings.stage),
          ...(settings.accessLog ? { ACCESS_LOG: 'true' } : {}),
          ...environmentOf(name, { settings, data, bus }),
        },
        logDays: settings.logDays,
        tracing: settings.tracing,
        reservedConcurrency:
          name === 'push' ? settings.pushConcurrency : name === 'wait' ? settings.waitConcurrency : undefined,
        // What happened is published all the same.
        paused: settings.paused && name !== 'notify',
      });
    const functions = Object.fromEntries(
      FUNCTION_NAMES.map((name) => [name, make(name)]),
    ) as ServiceFunctions;
    new ChangeFeed(this, 'ChangeFeed', { ...settings, data, notify: functions.notify, bus, deadLetters });
    new Sweeper(this, 'Sweeper', {
      name: 'sweep',
      description: 'Takes silent clusters out of the map',
      stage: settings.stage,
      paused: settings.paused,
      sweeper: functions.expire,
      deadLetters,
    });
    new Sweeper(this, 'ClaimSweeper', {
      name: 'sweep-claims',
      description: 'Writes down which claims have ended',
      stage: settings.stage,
      paused: settings.paused,
      sweeper: functions.sweep,
      deadLetters,
    });
    new BundleRounds(this, 'BundleRounds', { ...settings, plan: functions.plan, deadLetters });
    const front = new HttpFront(this, 'Http', { settings, functions });
    const alarms = new Alarms(this, 'Alarms', { settings, front, functions, data, deadLetters });
    new OperatorDashboard(this, 'Dashboard', { settings, front, functions, data, deadLetters, alarms });

    this.#output('Url', front.url, 'Where agents push and schedulers read');
    this.#output('BusName', bus.eventBusName, 'The event bus on which changes are published');
    this.#output(
      'BusArn',
      bus.eventBusArn,
      'Its ARN, for rules in other stacks, and in the accounts of consumerAccounts',
    );
    this.#output('HeadsTable', data.tables.heads.tableName, 'The table of cluster heads');
    this.#output('HeadsStream', streamOf(data), 'The stream of that table, from which marks are restored');
    this.#output('BodiesTable', data.tables.bodies.tableName, 'The table of snapshot bodies');
    this.#output('DeadLetterQueue', deadLetters.queueUrl, 'The queue of changes that could not be published');
    this.#output('TrustTable', data.tables.trust.tableName, 'The table of who may use the service');
    this.#output('PoolsTable', data.tables.pools.tableName, 'The table of configured pools');
    this.#output('ClaimsTable', data.tables.claims.tableName, 'The table of claims');
    this.#output('BundlesTable', data.tables.bundles.tableName, 'The table of stored bundles');
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

interface Surroundings {
  readonly settings: Settings;
  readonly data: Data;
  readonly bus: EventBus;
}

/** What a function is given, as `functions/runtime/settings.ts` reads it. */
function environmentOf(name: FunctionName, { settings, data, bus }: Surroundings): Record<string, string> {
  const tables = {
    HEADS_TABLE: data.tables.heads.tableName,
    BODIES_TABLE: data.tables.bodies.tableName,
    HEAD_SHARDS: String(settings.shards),
  };
  const trust = {
    TRUST_TABLE: data.tables.trust.tableName,
    ...(settings.adminTokenSha256 === undefined ? {} : { ADMIN_TOKEN_SHA256: settings.adminTokenSha256 }),
  };
  switch (name) {
    case 'push':
      return {
        ...tables,
        ...trust,
        MAX_CLOCK_AHEAD_SECONDS: String(settings.maxClockAheadSeconds),
        OMIT_AFTER_SECONDS: String(settings.omitAfter),
      };
    case 'map':
      return { ...tables, ...trust };
    case 'wait':
      return { ...tables, ...trust, LONGEST_WAIT_SECONDS: String(settings.longestWaitSeconds) };
    case 'plan':
      return {
        ...tables,
        ...trust,
        POOLS_TABLE: data.tables.pools.tableName,
        CLAIMS_TABLE: data.tables.claims.tableName,
        BUNDLES_TABLE: data.tables.bundles.tableName,
        MAX_CLOCK_AHEAD_SECONDS: String(settings.maxClockAheadSeconds),
        RETIRE_AFTER_SECONDS: String(settings.retireAfter),
        ...(settings.maxOwnerAccelerators === undefined
          ? {}
          : { MAX_OWNER_ACCELERATORS: String(settings.maxOwnerAccelerators) }),
        ...(settings.instanceTypes === undefined ? {} : { INSTANCE_TYPES_FILE: CATALOGUE_FILE }),
      };
    case 'access':
      return trust;
    case 'about': {
      const { oidc, grafana } = settings.page;
      return {
        ...(oidc === undefined ? {} : { OIDC_ISSUER: oidc.issuer, OIDC_CLIENT_ID: oidc.clientId }),
        ...(grafana === undefined ? {} : { GRAFANA_URL: grafana }),
      };
    }
    case 'notify':
      return {
        ...tables,
        EVENT_BUS_NAME: bus.eventBusName,
        ANNOUNCE_REFRESHES: String(settings.announceRefreshes),
        CLAIMS_TABLE: data.tables.claims.tableName,
      };
    case 'sweep':
      return {
        ...tables,
        CLAIMS_TABLE: data.tables.claims.tableName,
        MAX_CLOCK_AHEAD_SECONDS: String(settings.maxClockAheadSeconds),
        RETIRE_AFTER_SECONDS: String(settings.retireAfter),
      };
    case 'expire':
      return {
        ...tables,
        OMIT_AFTER_SECONDS: String(settings.omitAfter),
        RETIRE_AFTER_SECONDS: String(settings.retireAfter),
        ...(settings.fleetMetrics ? { FLEET_METRICS: 'true' } : {}),
      };
  }
}

function streamOf({ tables: { heads } }: Data): string {
  if (heads.tableStreamArn === undefined) throw new Error('The table of heads has no stream.');
  return heads.tableStreamArn;
}

function folderOf(bundles: ReadonlyMap<FunctionName, Bundle>, name: FunctionName): string {
  const bundle = bundles.get(name);
  if (bundle === undefined) throw new Error(`The function ${name} was not built.`);
  return bundle.folder;
}

function pascalCase(name: string): string {
  return `${name[0]?.toUpperCase()}${name.slice(1)}`;
}
