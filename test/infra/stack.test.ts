import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validations } from 'aws-cdk-lib';
import { Match, type Template } from 'aws-cdk-lib/assertions';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { afterAll, describe, expect, test } from 'vitest';
import { FUNCTION_NAMES, FUNCTIONS } from '../../infra/functions.ts';
import { ROUTES } from '../../infra/routes.ts';
import { openWorkshop, type Synthesis } from './synth.ts';

const workshop = openWorkshop();
afterAll(() => workshop.remove());

const CERTIFICATE = 'arn:aws:acm:eu-central-1:111122223333:certificate/01234567-89ab-cdef-0123-456789abcdef';

const standard = workshop.synthesise();
const { template } = standard;
/** Every setting other than its default. */
const other = workshop.synthesise({
  stage: 'blue',
  throwAway: 'true',
  paused: 'true',
  shards: '3',
  omitAfter: '2m',
  retireAfter: '2d',
  announceRefreshes: 'true',
  pushesPerSecond: '7',
  readsPerSecond: '3',
  logDays: '90',
  archiveDays: '7',
  alarmEmail: 'on-call@example.com',
  instanceTypes: new URL('./instance-types.json', import.meta.url).pathname,
  adminTokenSha256: '0123456789abcdef'.repeat(4),
  domainName: 'map.example.com',
  certificateArn: CERTIFICATE,
  hostedZoneId: 'Z0123456789ABCDEFGHIJ',
  hostedZoneName: 'example.com',
});

interface Resource {
  readonly Type: string;
  readonly Properties: Readonly<Record<string, unknown>>;
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
}

function resources(of: Template, type: string): Readonly<Record<string, Resource>> {
  return of.findResources(type) as Readonly<Record<string, Resource>>;
}

describe('the tables', () => {
  test('are on demand, with point-in-time recovery, and outlive the stack', () => {
    const tables = Object.values(resources(template, 'AWS::DynamoDB::Table'));
    expect(tables).toHaveLength(6);
    for (const table of tables) {
      expect(table).toMatchObject({
        DeletionPolicy: 'Retain',
        UpdateReplacePolicy: 'Retain',
        Properties: {
          BillingMode: 'PAY_PER_REQUEST',
          DeletionProtectionEnabled: true,
          PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
        },
      });
      // A name of its own would keep CloudFormation from ever replacing it beside the old one.
      expect(table.Properties).not.toHaveProperty('TableName');
    }
  });

  test('have the keys that the store has; bodies expire, and heads alone have a stream', () => {
    template.hasResourceProperties('AWS::DynamoDB::Table', {
      KeySchema: [
        { AttributeName: 'shard', KeyType: 'HASH' },
        { AttributeName: 'clusterId', KeyType: 'RANGE' },
      ],
      AttributeDefinitions: [
        { AttributeName: 'shard', AttributeType: 'S' },
        { AttributeName: 'clusterId', AttributeType: 'S' },
      ],
      StreamSpecification: { StreamViewType: 'NEW_AND_OLD_IMAGES' },
      TimeToLiveSpecification: Match.absent(),
    });
    template.hasResourceProperties('AWS::DynamoDB::Table', {
      KeySchema: [
        { AttributeName: 'bodyId', KeyType: 'HASH' },
        { AttributeName: 'part', KeyType: 'RANGE' },
      ],
      AttributeDefinitions: [
        { AttributeName: 'bodyId', AttributeType: 'B' },
        { AttributeName: 'part', AttributeType: 'N' },
      ],
      StreamSpecification: Match.absent(),
      TimeToLiveSpecification: { AttributeName: 'expiresAt', Enabled: true },
    });
  });

  test('go with the stack in a stage that says that it is throw-away', () => {
    for (const table of Object.values(resources(other.template, 'AWS::DynamoDB::Table'))) {
      expect(table).toMatchObject({
        DeletionPolicy: 'Delete',
        Properties: { DeletionProtectionEnabled: false },
      });
    }
  });
});

describe('the pools', () => {
  test('are kept apart, by their names, and never expire', () => {
    template.hasResourceProperties('AWS::DynamoDB::Table', {
      KeySchema: [
        { AttributeName: 'kind', KeyType: 'HASH' },
        { AttributeName: 'poolName', KeyType: 'RANGE' },
      ],
      StreamSpecification: Match.absent(),
      TimeToLiveSpecification: Match.absent(),
    });
  });

  test('and the instance types that are set are told to who plans', () => {
    const reported = (of: Template): unknown =>
      Object.values(resources(of, 'AWS::Lambda::Function'))
        .filter(({ Properties }) => String(Properties.FunctionName).endsWith('-plan'))
        .map(({ Properties }) => (Properties.Environment as { Variables: Record<string, unknown> }).Variables)
        .map((variables) => [typeof variables.POOLS_TABLE, variables.INSTANCE_TYPES_FILE])[0];
    expect(reported(template)).toEqual(['object', undefined]);
    expect(reported(other.template)).toEqual(['object', 'instance-types.json']);
  });
});

describe('who is trusted', () => {
  test('is kept apart from the map, with tokens that expire', () => {
    template.hasResourceProperties('AWS::DynamoDB::Table', {
      KeySchema: [
        { AttributeName: 'kind', KeyType: 'HASH' },
        { AttributeName: 'id', KeyType: 'RANGE' },
      ],
      StreamSpecification: Match.absent(),
      TimeToLiveSpecification: { AttributeName: 'expiresAt', Enabled: true },
    });
  });

  test('is known to every function that has callers, and begins with the admin that is set', () => {
    const variables = (of: Template, name: string): Readonly<Record<string, unknown>> => {
      const [found] = Object.values(resources(of, 'AWS::Lambda::Function')).filter(
        ({ Properties }) => Properties.FunctionName === name,
      );
      if (found === undefined) throw new Error(`There is no function ${name}.`);
      return (found.Properties.Environment as { Variables: Record<string, unknown> }).Variables;
    };
    for (const name of ['push', 'map', 'wait', 'plan', 'access']) {
      expect(variables(template, `resource-map-dev-${name}`)).toHaveProperty('TRUST_TABLE');
      expect(variables(template, `resource-map-dev-${name}`)).not.toHaveProperty('ADMIN_TOKEN_SHA256');
      expect(variables(other.template, `resource-map-blue-${name}`)).toMatchObject({
        ADMIN_TOKEN_SHA256: '0123456789abcdef'.repeat(4),
      });
    }
  });
});

describe.each(FUNCTION_NAMES)('the function %s', (name) => {
  const functionName = `resource-map-dev-${name}`;

  test('runs on Node 24 and ARM, with source maps and a log group of its own', () => {
    template.hasResourceProperties('AWS::Lambda::Function', {
      FunctionName: functionName,
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Handler: 'index.handler',
      MemorySize: FUNCTIONS[name].memoryMb,
      Timeout: FUNCTIONS[name].timeoutSeconds,
      TracingConfig: Match.absent(),
      LoggingConfig: { LogFormat: 'JSON', SystemLogLevel: 'WARN' },
      Environment: {
        Variables: Match.objectLike({
          NODE_OPTIONS: '--enable-source-maps',
          METRICS_NAMESPACE: 'ResourceMap/dev',
        }),
      },
      ReservedConcurrentExecutions: Match.absent(),
    });
    template.hasResource('AWS::Logs::LogGroup', {
      DeletionPolicy: 'Delete',
      Properties: { LogGroupName: `/aws/lambda/${functionName}`, RetentionInDays: 30 },
    });
  });

  test('may do what it does, and nothing more', () => {
    const statements = policyOf(template, name);
    expect(statements.map(({ Effect }) => Effect).filter((effect) => effect !== 'Allow')).toEqual([]);
    expect(allowed(statements)).toEqual(
      [...EXPECTED_RIGHTS[name], 'logs:CreateLogStream on Logs', 'logs:PutLogEvents on Logs'].sort(),
    );
  });
});

const EXPECTED_RIGHTS: Readonly<Record<(typeof FUNCTION_NAMES)[number], readonly string[]>> = {
  push: [
    'dynamodb:GetItem on Heads',
    'dynamodb:PutItem on Heads',
    // The node types of the snapshot before, when the content is new.
    'dynamodb:BatchGetItem on Bodies',
    'dynamodb:PutItem on Bodies',
    'dynamodb:GetItem on Trust',
  ],
  map: [
    'dynamodb:GetItem on Heads',
    'dynamodb:Query on Heads',
    'dynamodb:BatchGetItem on Bodies',
    'dynamodb:GetItem on Trust',
  ],
  wait: [
    'dynamodb:GetItem on Heads',
    'dynamodb:Query on Heads',
    'dynamodb:BatchGetItem on Bodies',
    'dynamodb:GetItem on Trust',
  ],
  plan: [
    'dynamodb:GetItem on Heads',
    'dynamodb:Query on Heads',
    'dynamodb:BatchGetItem on Bodies',
    'dynamodb:GetItem on Trust',
    // Operators keep pools through this function, and nobody reads them but it.
    'dynamodb:GetItem on Pools',
    'dynamodb:Query on Pools',
    'dynamodb:PutItem on Pools',
    'dynamodb:DeleteItem on Pools',
    'dynamodb:GetItem on Claims',
    'dynamodb:Query on Claims',
    'dynamodb:PutItem on Claims',
    'dynamodb:GetItem on Bundles',
    'dynamodb:Query on Bundles',
    'dynamodb:PutItem on Bundles',
    'dynamodb:DeleteItem on Bundles',
  ],
  // Nobody else may write who is trusted.
  access: [
    'dynamodb:GetItem on Trust',
    'dynamodb:PutItem on Trust',
    'dynamodb:DeleteItem on Trust',
    'dynamodb:Query on Trust',
  ],
  about: [],
  notify: [
    'dynamodb:BatchGetItem on Bodies',
    'dynamodb:DescribeStream on Heads stream',
    'dynamodb:GetRecords on Heads stream',
    'dynamodb:GetShardIterator on Heads stream',
    'dynamodb:DescribeStream on Claims stream',
    'dynamodb:GetRecords on Claims stream',
    'dynamodb:GetShardIterator on Claims stream',
    'dynamodb:ListStreams on *',
    'events:PutEvents on Bus',
    // Lambda sends what the function gave up on, in its name.
    'sqs:GetQueueAttributes on DeadLetters',
    'sqs:GetQueueUrl on DeadLetters',
    'sqs:SendMessage on DeadLetters',
  ],
  sweep: [
    'dynamodb:GetItem on Heads',
    'dynamodb:BatchGetItem on Bodies',
    'dynamodb:Query on Claims',
    'dynamodb:PutItem on Claims',
    'dynamodb:DeleteItem on Claims',
    'sqs:GetQueueAttributes on DeadLetters',
    'sqs:GetQueueUrl on DeadLetters',
    'sqs:SendMessage on DeadLetters',
  ],
  expire: [
    'dynamodb:DeleteItem on Heads',
    'dynamodb:PutItem on Heads',
    'dynamodb:Query on Heads',
    'sqs:GetQueueAttributes on DeadLetters',
    'sqs:GetQueueUrl on DeadLetters',
    'sqs:SendMessage on DeadLetters',
  ],
};

interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
}

function policyOf(of: Template, name: string): readonly Statement[] {
  const role = `${name[0]?.toUpperCase()}${name.slice(1)}Role`;
  return Object.entries(resources(of, 'AWS::IAM::Policy'))
    .filter(([id]) => id.startsWith(role))
    .flatMap(([, { Properties }]) => (Properties.PolicyDocument as { Statement: Statement[] }).Statement);
}

function allowed(statements: readonly Statement[]): readonly string[] {
  return statements
    .flatMap(({ Action, Resource }) =>
      [Action]
        .flat()
        .flatMap((action) => [Resource].flat().map((resource) => `${action} on ${resourceName(resource)}`)),
    )
    .sort();
}

function resourceName(resource: unknown): string {
  if (resource === '*') return '*';
  const [id = '', attribute] = (resource as { 'Fn::GetAtt': [string, string] })['Fn::GetAtt'];
  const name = ['Heads', 'Bodies', 'Trust', 'Pools', 'Claims', 'Bundles', 'Bus', 'DeadLetters', 'Logs'].find(
    (each) => id.includes(each),
  );
  return attribute === 'StreamArn' ? `${name} stream` : String(name);
}

describe('concurrency', () => {
  const reservedOf = (of: Template, stage: string): Readonly<Record<string, unknown>> =>
    Object.fromEntries(
      Object.values(resources(of, 'AWS::Lambda::Function'))
        .filter(({ Properties }) => Properties.ReservedConcurrentExecutions !== undefined)
        .map(({ Properties }) => [
          String(Properties.FunctionName).replace(`resource-map-${stage}-`, ''),
          Properties.ReservedConcurrentExecutions,
        ]),
    );

  test('is reserved for nobody by default, since a new account has too little to reserve from', () => {
    expect(reservedOf(template, 'dev')).toEqual({});
  });

  test('is reserved for pushes, and bounded for readers who wait, where that is set', () => {
    const set = workshop.synthesise({ pushConcurrency: '200', waitConcurrency: 300, longestWaitSeconds: 10 });
    expect(reservedOf(set.template, 'dev')).toEqual({ push: 200, wait: 300 });
    set.template.hasResourceProperties('AWS::Lambda::Function', {
      FunctionName: 'resource-map-dev-wait',
      Environment: { Variables: Match.objectLike({ LONGEST_WAIT_SECONDS: '10' }) },
    });
  });
});

describe('what is off unless it is set', () => {
  test('tracing, with its rights; metrics of each route; other accounts and origins; an account and region', () => {
    expect(template.findResources('AWS::Events::EventBusPolicy')).toEqual({});
    template.hasResourceProperties('AWS::ApiGatewayV2::Api', { CorsConfiguration: Match.absent() });
    const set = workshop.synthesise({
      tracing: 'true',
      detailedMetrics: 'true',
      consumerAccounts: '111122223333,444455556666',
      corsOrigins: 'https://tools.example.com',
      account: '123456789012',
      region: 'eu-central-1',
    });
    expect(set.stack.environment).toBe('aws://123456789012/eu-central-1');
    set.template.allResourcesProperties('AWS::Lambda::Function', { TracingConfig: { Mode: 'Active' } });
    expect(allowed(policyOf(set.template, 'map'))).toEqual(
      expect.arrayContaining(['xray:PutTelemetryRecords on *', 'xray:PutTraceSegments on *']),
    );
    set.template.hasResourceProperties('AWS::ApiGatewayV2::Stage', {
      DefaultRouteSettings: Match.objectLike({ DetailedMetricsEnabled: true }),
    });
    set.template.hasResourceProperties('AWS::ApiGatewayV2::Api', {
      CorsConfiguration: Match.objectLike({ AllowOrigins: ['https://tools.example.com'] }),
    });
    set.template.hasResourceProperties('AWS::Events::EventBusPolicy', {
      Statement: Match.objectLike({
        Action: Match.arrayWith(['events:PutRule', 'events:PutTargets']),
        Condition: { StringEqualsIfExists: { 'events:creatorAccount': `\${aws:PrincipalAccount}` } },
        Resource: Match.objectLike({}),
      }),
    });
    const policies = JSON.stringify(resources(set.template, 'AWS::Events::EventBusPolicy'));
    expect(policies).toMatch(/:iam::111122223333:root.*:iam::444455556666:root/);
  });
});

describe('rights', () => {
  test('no policy of the stack allows a whole service, and none but what knows no resources is on *', () => {
    for (const { Properties } of Object.values(resources(template, 'AWS::IAM::Policy'))) {
      for (const { Action, Resource } of (Properties.PolicyDocument as { Statement: Statement[] })
        .Statement) {
        for (const action of [Action].flat()) {
          expect(action).not.toContain('*');
          if (Resource === '*') {
            expect(['xray:PutTelemetryRecords', 'xray:PutTraceSegments', 'dynamodb:ListStreams']).toContain(
              action,
            );
          }
        }
      }
    }
    expect(
      Object.values(resources(template, 'AWS::IAM::Role')).filter(
        (role) => 'ManagedPolicyArns' in role.Properties,
      ),
    ).toEqual([]);
  });
});

describe('the HTTP API', () => {
  test('leads each route to its function, and everything else to the map', () => {
    const routes = Object.values(resources(template, 'AWS::ApiGatewayV2::Route')).map(({ Properties }) => [
      Properties.RouteKey,
      integrationTarget(Properties.Target),
    ]);
    expect(Object.fromEntries(routes)).toEqual({
      'PUT /v1/clusters/{id+}': 'Push',
      'DELETE /v1/clusters/{id+}': 'Push',
      'GET /v1/clusters': 'Map',
      'GET /v1/clusters/{id+}': 'Map',
      'GET /v1/map': 'Map',
      'GET /v1/map/clock': 'Map',
      'POST /v1/map/sync': 'Map',
      'GET /v1/wait/map': 'Wait',
      'POST /v1/wait/map/sync': 'Wait',
      'GET /v1/capacity': 'Plan',
      'POST /v1/capacity/fit': 'Plan',
      'POST /v1/bundles/validate': 'Plan',
      'POST /v1/bundles/plan': 'Plan',
      'GET /v1/bundles': 'Plan',
      'GET /v1/bundles/{id}': 'Plan',
      'PUT /v1/bundles/{id}': 'Plan',
      'DELETE /v1/bundles/{id}': 'Plan',
      'POST /v1/bundles/{id}/stop-time': 'Plan',
      'POST /v1/bundles/{id}/copies/{copy}/move': 'Plan',
      'GET /v1/claims': 'Plan',
      'GET /v1/claims/{id}': 'Plan',
      'PUT /v1/claims/{id}': 'Plan',
      'DELETE /v1/claims/{id}': 'Plan',
      'POST /v1/claims/{id}/confirm': 'Plan',
      'POST /v1/claims/{id}/renew': 'Plan',
      'GET /v1/pools': 'Plan',
      'GET /v1/pools/{name}': 'Plan',
      'PUT /v1/pools/{name}': 'Plan',
      'DELETE /v1/pools/{name}': 'Plan',
      'POST /v1/snapshots/validate': 'Push',
      'POST /v1/registrations': 'Access',
      'GET /v1/registrations': 'Access',
      'DELETE /v1/registrations/{id}': 'Access',
      'POST /v1/tokens': 'Access',
      'GET /v1/tokens': 'Access',
      'DELETE /v1/tokens/{id}': 'Access',
      'GET /': 'About',
      'GET /metrics': 'Map',
      'GET /metrics/capacity': 'Plan',
      'GET /healthz': 'About',
      'GET /livez': 'About',
      'GET /version': 'About',
      'GET /ui': 'About',
      'GET /ui/config.json': 'About',
      'GET /ui/{file}': 'About',
      'GET /openapi.json': 'About',
      'GET /resourcemap.v1.ResourceMapService/GetMap': 'Map',
      'GET /resourcemap.v1.ResourceMapService/GetClock': 'Map',
      'GET /resourcemap.v1.ResourceMapService/ListClusters': 'Map',
      'GET /resourcemap.v1.ResourceMapService/GetCluster': 'Map',
      'GET /resourcemap.v1.ResourceMapService/GetSnapshot': 'Map',
      'GET /resourcemap.v1.ResourceMapService/GetCapacity': 'Plan',
      'GET /resourcemap.v1.ResourceMapService/ListPools': 'Plan',
      'GET /resourcemap.v1.ResourceMapService/GetPool': 'Plan',
      'POST /resourcemap.v1.ResourceMapService/GetMap': 'Map',
      'POST /resourcemap.v1.ResourceMapService/GetClock': 'Map',
      'POST /resourcemap.v1.ResourceMapService/SyncMap': 'Map',
      'POST /resourcemap.v1.ResourceMapService/ListClusters': 'Map',
      'POST /resourcemap.v1.ResourceMapService/GetCluster': 'Map',
      'POST /resourcemap.v1.ResourceMapService/GetSnapshot': 'Map',
      'POST /resourcemap.v1.ResourceMapService/PushSnapshot': 'Push',
      'POST /resourcemap.v1.ResourceMapService/ValidateSnapshot': 'Push',
      'POST /resourcemap.v1.ResourceMapService/OmitCluster': 'Push',
      'POST /resourcemap.v1.ResourceMapService/GetCapacity': 'Plan',
      'POST /resourcemap.v1.ResourceMapService/Fit': 'Plan',
      'POST /resourcemap.v1.ResourceMapService/ValidateBundle': 'Plan',
      'POST /resourcemap.v1.ResourceMapService/PlanBundles': 'Plan',
      'POST /resourcemap.v1.ResourceMapService/ListPools': 'Plan',
      'POST /resourcemap.v1.ResourceMapService/GetPool': 'Plan',
      'POST /resourcemap.v1.ResourceMapService/PutPool': 'Plan',
      'POST /resourcemap.v1.ResourceMapService/DeletePool': 'Plan',
      $default: 'Map',
    });
  });

  test('speaks payload 2.0, and lets no more through than is set', () => {
    template.allResourcesProperties('AWS::ApiGatewayV2::Integration', { PayloadFormatVersion: '2.0' });
    other.template.hasResourceProperties('AWS::ApiGatewayV2::Stage', {
      StageName: '$default',
      AutoDeploy: true,
      DefaultRouteSettings: {
        ThrottlingRateLimit: 3,
        ThrottlingBurstLimit: 6,
        DetailedMetricsEnabled: false,
      },
      RouteSettings: { 'PUT /v1/clusters/{id+}': { ThrottlingRateLimit: 7, ThrottlingBurstLimit: 14 } },
    });
  });

  test('makes the routes before the stage that sets their rates', () => {
    const [stage] = Object.values(resources(template, 'AWS::ApiGatewayV2::Stage')) as unknown as [
      { DependsOn: readonly string[] },
    ];
    expect(stage.DependsOn).toEqual(
      expect.arrayContaining(Object.keys(resources(template, 'AWS::ApiGatewayV2::Route'))),
    );
  });

  test('keeps a line for each request, without its token', () => {
    const [format = ''] = Object.values(resources(template, 'AWS::ApiGatewayV2::Stage')).map(
      ({ Properties }) => (Properties.AccessLogSettings as { Format: string }).Format,
    );
    expect(Object.values(JSON.parse(format))).toContain('$context.status');
    expect(format).not.toMatch(/authorization|header/i);
    template.hasResourceProperties('AWS::Logs::LogGroup', {
      LogGroupName: '/aws/vendedlogs/resource-map/dev/access',
      LogGroupClass: 'INFREQUENT_ACCESS',
      RetentionInDays: 30,
    });
  });

  test('has a name of its own where one is set, and then no other way in', () => {
    other.template.hasResourceProperties('AWS::ApiGatewayV2::Api', { DisableExecuteApiEndpoint: true });
    other.template.hasResourceProperties('AWS::ApiGatewayV2::DomainName', {
      DomainName: 'map.example.com',
      DomainNameConfigurations: [
        Match.objectLike({ CertificateArn: CERTIFICATE, SecurityPolicy: 'TLS_1_2' }),
      ],
    });
    other.template.resourceCountIs('AWS::ApiGatewayV2::ApiMapping', 1);
    other.template.hasResourceProperties('AWS::Route53::RecordSet', { Name: 'map.example.com.', Type: 'A' });
    other.template.hasResourceProperties('AWS::Route53::RecordSet', {
      Name: 'map.example.com.',
      Type: 'AAAA',
    });
    other.template.hasOutput('Url', { Value: 'https://map.example.com' });
    template.resourceCountIs('AWS::ApiGatewayV2::DomainName', 0);
    template.hasResourceProperties('AWS::ApiGatewayV2::Api', { DisableExecuteApiEndpoint: false });
  });
});

function integrationTarget(target: unknown): string {
  const parts = (target as { 'Fn::Join': [string, readonly unknown[]] })['Fn::Join'][1];
  const id = (parts.find((part) => typeof part === 'object') as { Ref: string }).Ref;
  const uri = resources(template, 'AWS::ApiGatewayV2::Integration')[id]?.Properties.IntegrationUri;
  return (
    /^(Push|Map|Wait|Plan|Access|About|Notify|Expire)/.exec(
      (uri as { 'Fn::GetAtt': [string] })['Fn::GetAtt'][0],
    )?.[1] ?? '?'
  );
}

describe('changes', () => {
  test('are told on a bus with an archive', () => {
    template.hasResourceProperties('AWS::Events::EventBus', { Name: 'resource-map-dev' });
    template.hasResourceProperties('AWS::Events::Archive', {
      ArchiveName: 'resource-map-dev',
      RetentionDays: 30,
      EventPattern: { source: ['resource-map'] },
    });
  });

  test('come from the stream from its beginning, are tried for half a day, in halves, and then kept', () => {
    template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      EventSourceArn: { 'Fn::GetAtt': [Match.stringLikeRegexp('Heads'), 'StreamArn'] },
      StartingPosition: 'TRIM_HORIZON',
      BatchSize: 100,
      MaximumBatchingWindowInSeconds: 1,
      BisectBatchOnFunctionError: true,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      MaximumRetryAttempts: 10_000,
      MaximumRecordAgeInSeconds: 43_200,
      DestinationConfig: {
        OnFailure: { Destination: { 'Fn::GetAtt': [Match.stringLikeRegexp('DeadLetters'), 'Arn'] } },
      },
    });
  });

  test('that could not be read go to the dead letters, which are encrypted and kept for two weeks', () => {
    template.hasResourceProperties('AWS::Events::Rule', {
      EventPattern: { source: ['resource-map'], 'detail-type': ['Cluster Change Unreadable'] },
      Targets: [Match.objectLike({ Arn: { 'Fn::GetAtt': [Match.stringLikeRegexp('DeadLetters'), 'Arn'] } })],
    });
    template.hasResourceProperties('AWS::SQS::Queue', {
      SqsManagedSseEnabled: true,
      MessageRetentionPeriod: 14 * 86_400,
    });
  });
});

describe('the sweeper', () => {
  test('is called every minute, and never for a minute that is over', () => {
    template.hasResourceProperties('AWS::Scheduler::Schedule', {
      ScheduleExpression: 'rate(1 minute)',
      State: 'ENABLED',
      Target: Match.objectLike({ RetryPolicy: { MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 0 } }),
    });
    template.hasResourceProperties('AWS::Lambda::EventInvokeConfig', {
      MaximumEventAgeInSeconds: 60,
      MaximumRetryAttempts: 0,
      DestinationConfig: {
        OnFailure: { Destination: { 'Fn::GetAtt': [Match.stringLikeRegexp('DeadLetters'), 'Arn'] } },
      },
    });
    // A paused stage would have a dead letter each minute.
    other.template.hasResourceProperties('AWS::Scheduler::Schedule', { State: 'DISABLED' });
  });

  test('is told what the settings say', () => {
    const variables = (name: string): unknown =>
      Object.values(resources(other.template, 'AWS::Lambda::Function')).find(
        ({ Properties }) => Properties.FunctionName === `resource-map-blue-${name}`,
      )?.Properties.Environment;
    expect(variables('expire')).toMatchObject({
      Variables: { OMIT_AFTER_SECONDS: '120', RETIRE_AFTER_SECONDS: '172800', HEAD_SHARDS: '3' },
    });
    expect(variables('notify')).toMatchObject({ Variables: { ANNOUNCE_REFRESHES: 'true' } });
    expect(variables('push')).toMatchObject({
      Variables: { HEAD_SHARDS: '3', MAX_CLOCK_AHEAD_SECONDS: '300', OMIT_AFTER_SECONDS: '120' },
    });
  });
});

describe('the operator', () => {
  test('is told by a topic that takes nothing unencrypted, and by e-mail where an address is set', () => {
    template.hasResourceProperties('AWS::SNS::TopicPolicy', {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
          Match.objectLike({
            Effect: 'Allow',
            Principal: { Service: 'cloudwatch.amazonaws.com' },
            Action: 'sns:Publish',
          }),
        ]),
      },
    });
    template.resourceCountIs('AWS::SNS::Subscription', 0);
    other.template.hasResourceProperties('AWS::SNS::Subscription', {
      Protocol: 'email',
      Endpoint: 'on-call@example.com',
    });
  });

  test.each([
    'ServerErrors',
    'FunctionThrottles',
    'TableThrottles',
    'NotifyLag',
    'DeadLetters',
    'ClientErrors',
    'PushesRefused',
    'SlowRequests',
    'SweepFailures',
    'ClustersSilent',
    'OldestSnapshot',
    'HeadsUnreadable',
    'ClaimsBroken',
    'ClaimsExpiredConfirmed',
    'BodiesMissing',
  ])('has an alarm %s, which says what it means', (id) => {
    template.hasResourceProperties('AWS::CloudWatch::Alarm', {
      AlarmName: `resource-map-dev-${id}`,
      AlarmDescription: Match.stringLikeRegexp('.{80}'),
      AlarmActions: [{ Ref: Match.stringLikeRegexp('AlarmsTopic') }],
      OKActions: [{ Ref: Match.stringLikeRegexp('AlarmsTopic') }],
      ActionsEnabled: true,
    });
  });

  test('hears of a sweeper that does not report, after the time that is set and five sweeps', () => {
    other.template.hasResourceProperties('AWS::CloudWatch::Alarm', {
      AlarmName: 'resource-map-blue-OldestSnapshot',
      Namespace: 'ResourceMap/blue',
      MetricName: 'OldestSnapshotAge',
      Dimensions: [{ Name: 'service', Value: 'expire' }],
      Threshold: 120 + 5 * 60,
      TreatMissingData: 'breaching',
    });
  });

  test('has a dashboard that names every alarm and every function', () => {
    const [dashboard] = Object.values(resources(template, 'AWS::CloudWatch::Dashboard'));
    const body = JSON.stringify(dashboard?.Properties.DashboardBody);
    for (const request of [
      'Is the map true?',
      'Do agents get through?',
      'Do schedulers get answers?',
      'Are changes published?',
      'Do claims come true?',
    ]) {
      expect(body).toContain(request);
    }
    for (const id of Object.keys(resources(template, 'AWS::CloudWatch::Alarm'))) expect(body).toContain(id);
    for (const id of Object.keys(resources(template, 'AWS::Lambda::Function'))) expect(body).toContain(id);
  });

  test('has what the next command needs as outputs', () => {
    expect(Object.keys(template.toJSON().Outputs).sort()).toEqual([
      'AlarmTopic',
      'BodiesTable',
      'BundlesTable',
      'BusArn',
      'BusName',
      'ClaimsTable',
      'DeadLetterQueue',
      'HeadsStream',
      'HeadsTable',
      'PoolsTable',
      'TrustTable',
      'Url',
    ]);
  });

  test('can pause a stage: nothing is served or swept, what happened is told, and no alarm goes off', () => {
    const concurrency = Object.fromEntries(
      Object.values(resources(other.template, 'AWS::Lambda::Function')).map(({ Properties }) => [
        Properties.FunctionName,
        Properties.ReservedConcurrentExecutions,
      ]),
    );
    expect(concurrency).toEqual({
      'resource-map-blue-push': 0,
      'resource-map-blue-map': 0,
      'resource-map-blue-wait': 0,
      'resource-map-blue-plan': 0,
      'resource-map-blue-access': 0,
      'resource-map-blue-about': 0,
      'resource-map-blue-expire': 0,
      'resource-map-blue-sweep': 0,
      'resource-map-blue-notify': undefined,
    });
    other.template.allResourcesProperties('AWS::CloudWatch::Alarm', { ActionsEnabled: false });
  });
});

describe('stages', () => {
  test('stand side by side: no two resources of two stages have one name', () => {
    const names = ({ stack, template: own }: Synthesis): readonly string[] => [
      stack.stackName,
      ...Object.values(own.toJSON().Resources as Record<string, Resource>).flatMap(({ Type, Properties }) =>
        Object.entries(Properties)
          .filter(
            ([key, value]) =>
              /Name$/.test(key) && typeof value === 'string' && !NOT_A_NAME.has(`${Type} ${key}`),
          )
          .map(([key, value]) => `${Type} ${key} ${value}`),
      ),
    ];
    const [dev, blue] = [names(standard), names(other)];
    expect(blue.length).toBeGreaterThan(15);
    expect(blue.filter((name) => dev.includes(name))).toEqual([]);
  });

  test('keep the number of shards of their first deploy: a deploy with another is refused', () => {
    const { Parameters, Rules } = other.template.toJSON();
    const [[parameter, { Default: first }] = ['', {}]] = Object.entries<{ Default?: string }>(
      Parameters,
    ).filter(([id]) => id.startsWith('Shards'));
    expect(first).toBe('3');
    const [rule] = Object.entries<{ Assertions: unknown[] }>(Rules)
      .filter(([id]) => id.startsWith('Shards'))
      .map(([, value]) => value);
    expect(rule?.Assertions).toEqual([
      {
        Assert: { 'Fn::Equals': [{ Ref: parameter }, '3'] },
        AssertDescription:
          'The setting shards is now 3, and was another when this stack was first deployed. ' +
          'Every cluster would be looked for in the wrong partition, and its counter could go back. Set it back.',
      },
    ]);
  });
});

/** Names within the stack, and names of others' things. */
const NOT_A_NAME = new Set([
  'AWS::IAM::Policy PolicyName',
  'AWS::ApiGatewayV2::Stage StageName',
  'AWS::CloudWatch::Alarm MetricName',
  'AWS::Lambda::Permission FunctionName',
  'AWS::SNS::Topic DisplayName',
]);

describe('the template', () => {
  test('is the same each time it is synthesised', () => {
    const again = workshop.synthesise();
    for (const file of ['ResourceMap-dev.template.json', 'ResourceMap-dev.assets.json']) {
      expect(readFileSync(join(again.folder, file), 'utf8')).toBe(
        readFileSync(join(standard.folder, file), 'utf8'),
      );
    }
  });

  test('passes the AWS Solutions checks, with these exceptions and a reason for each', () => {
    const exceptions = standard.app.node.findAll().flatMap((construct) =>
      construct.node.metadata
        .filter(({ type }) => type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY)
        .flatMap(({ data }) =>
          Object.entries(data as Readonly<Record<string, string>>).map(([id, reason]) => ({
            id: id.replace(/^.*(AwsSolutions-\w+).*$/, '$1'),
            path: construct.node.path.replace('ResourceMap-dev/', ''),
            reason,
          })),
        ),
    );
    expect(
      exceptions.map(({ id, path }) => `${id} ${path.replace(/^Http\/.*/, 'every route')}`).sort(),
    ).toEqual([
      ...[...ROUTES, 'default'].map(() => 'AwsSolutions-APIG4 every route'),
      'AwsSolutions-IAM5 BundleRounds/Role',
      'AwsSolutions-IAM5 ClaimSweeper/Role',
      'AwsSolutions-IAM5 Notify/Role',
      'AwsSolutions-IAM5 Sweeper/Role',
      'AwsSolutions-SQS3 DeadLetters/Queue',
    ]);
    for (const { reason } of exceptions) expect(reason.length).toBeGreaterThan(50);
  });

  test('would not pass them with a topic that takes what is not encrypted', () => {
    expect(() => workshop.synthesise({}, (stack) => new Topic(stack, 'Careless'))).toThrow(
      'The SNS Topic does not require publishers to use SSL.',
    );
  });
});
