/** The HTTP API: routes, rates, an access log, and a domain of your own where there is one. */
import { Duration, RemovalPolicy, Validations } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  ApiMapping,
  CfnStage,
  CorsHttpMethod,
  type CorsPreflightOptions,
  DomainName,
  HttpApi,
  HttpMethod,
  HttpRoute,
  HttpRouteKey,
  HttpStage,
  LogGroupLogDestination,
  SecurityPolicy,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { LogGroup, LogGroupClass } from 'aws-cdk-lib/aws-logs';
import { AaaaRecord, ARecord, HostedZone, RecordTarget } from 'aws-cdk-lib/aws-route53';
import { ApiGatewayv2DomainProperties } from 'aws-cdk-lib/aws-route53-targets';
import { Construct } from 'constructs';
import type { FunctionName } from './functions.ts';
import { DEFAULT_FUNCTION, ROUTES, type Route } from './routes.ts';
import type { ServiceFunctions } from './service-function.ts';
import type { DomainSettings, Settings } from './settings.ts';

export interface HttpFrontProps {
  readonly settings: Settings;
  readonly functions: ServiceFunctions;
}

/** What a line of the access log says: who asked for what, and what became of it; 200 bytes, never a token. */
const ACCESS_LOG_FORMAT = JSON.stringify({
  id: '$context.requestId',
  ip: '$context.identity.sourceIp',
  route: '$context.routeKey',
  path: '$context.path',
  status: '$context.status',
  ms: '$context.responseLatency',
  bytes: '$context.responseLength',
  error: '$context.integrationErrorMessage',
});

export class HttpFront extends Construct {
  readonly api: HttpApi;
  readonly stage: HttpStage;
  /** Without a slash at the end. */
  readonly url: string;
  readonly domain: DomainName | undefined;

  constructor(scope: Construct, id: string, { settings, functions }: HttpFrontProps) {
    super(scope, id);
    this.api = new HttpApi(this, 'Api', {
      apiName: `resource-map-${settings.stage}`,
      description: `Resource Map, ${settings.stage}`,
      createDefaultStage: false,
      ...(settings.corsOrigins.length === 0 ? {} : { corsPreflight: cors(settings.corsOrigins) }),
      // With a name of its own the API has one way in.
      disableExecuteApiEndpoint: settings.domain !== undefined,
    });
    const routes = this.#routes(functions);
    this.stage = this.#stage(settings, routes);
    this.domain = settings.domain && this.#domain(settings.domain);
    this.url = settings.domain === undefined ? this.api.apiEndpoint : `https://${settings.domain.name}`;
  }

  #routes(functions: ServiceFunctions): readonly HttpRoute[] {
    const names = new Set([...ROUTES.map((each) => each.function), DEFAULT_FUNCTION]);
    const integrations = new Map(
      [...names].map((name) => [
        name,
        // One permission a function: a policy with one a route grows with every route.
        new HttpLambdaIntegration(name, functions[name].lambda, { scopePermissionToRoute: false }),
      ]),
    );
    const route = (id: string, key: HttpRouteKey, name: FunctionName): HttpRoute => {
      const integration = integrations.get(name);
      if (integration === undefined) throw new Error(`The function ${name} has no integration.`);
      const made = new HttpRoute(this, id, { httpApi: this.api, routeKey: key, integration });
      Validations.of(made).acknowledge({
        id: 'AwsSolutions-APIG4',
        reason:
          'The function itself verifies the bearer token: issuers are registered at run time, and an agent ' +
          'may only touch the cluster that its registration names, which no authorizer of API Gateway can tell.',
      });
      return made;
    };
    return [
      ...ROUTES.map(({ method, path, function: name }) =>
        route(`${method} ${path}`, HttpRouteKey.with(path, HttpMethod[method]), name),
      ),
      route('Default', HttpRouteKey.DEFAULT, DEFAULT_FUNCTION),
    ];
  }

  #stage(settings: Settings, routes: readonly HttpRoute[]): HttpStage {
    const logs = new LogGroup(this, 'AccessLogs', {
      // Under this prefix one policy covers every log group; under another, each log delivery adds to one of 5,120 characters.
      logGroupName: `/aws/vendedlogs/resource-map/${settings.stage}/access`,
      // Half the price; what it cannot do, metric filters and live tail, nothing here needs.
      logGroupClass: LogGroupClass.INFREQUENT_ACCESS,
      retention: settings.logDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const reads = rate(settings.readsPerSecond);
    const stage = new HttpStage(this, 'Stage', {
      httpApi: this.api,
      stageName: '$default',
      autoDeploy: true,
      throttle: { rateLimit: reads.throttlingRateLimit, burstLimit: reads.throttlingBurstLimit },
      detailedMetricsEnabled: settings.detailedMetrics,
      accessLogSettings: {
        destination: new LogGroupLogDestination(logs),
        format: AccessLogFormat.custom(ACCESS_LOG_FORMAT),
      },
    });
    // A stage's settings of a route are refused until the route is there.
    for (const route of routes) stage.node.addDependency(route);
    const pushes = { ...rate(settings.pushesPerSecond), detailedMetricsEnabled: settings.detailedMetrics };
    const cfn = stage.node.defaultChild;
    if (!(cfn instanceof CfnStage)) throw new Error('The stage of the HTTP API is not the resource it was.');
    cfn.routeSettings = Object.fromEntries(
      ROUTES.filter((route) => route.rate === 'pushes').map((route) => [routeKey(route), pascal(pushes)]),
    );
    return stage;
  }

  #domain({ name, certificateArn, hostedZone }: DomainSettings): DomainName {
    const domain = new DomainName(this, 'Domain', {
      domainName: name,
      certificate: Certificate.fromCertificateArn(this, 'Certificate', certificateArn),
      securityPolicy: SecurityPolicy.TLS_1_2,
    });
    new ApiMapping(this, 'Mapping', { api: this.api, domainName: domain, stage: this.stage });
    if (hostedZone !== undefined) {
      const zone = HostedZone.fromHostedZoneAttributes(this, 'Zone', {
        hostedZoneId: hostedZone.id,
        zoneName: hostedZone.name,
      });
      const target = RecordTarget.fromAlias(
        new ApiGatewayv2DomainProperties(domain.regionalDomainName, domain.regionalHostedZoneId),
      );
      new ARecord(this, 'RecordV4', { zone, recordName: `${name}.`, target });
      new AaaaRecord(this, 'RecordV6', { zone, recordName: `${name}.`, target });
    }
    return domain;
  }
}

/** For pages of other origins that call the API with a token of their own; never with cookies. */
function cors(allowOrigins: readonly string[]): CorsPreflightOptions {
  return {
    allowOrigins: [...allowOrigins],
    allowMethods: [CorsHttpMethod.GET, CorsHttpMethod.POST, CorsHttpMethod.PUT, CorsHttpMethod.DELETE],
    allowHeaders: [
      'authorization',
      'content-type',
      'content-encoding',
      'if-match',
      'if-none-match',
      'prefer',
      'connect-protocol-version',
      'connect-timeout-ms',
    ],
    exposeHeaders: ['etag', 'retry-after', 'preference-applied', 'x-request-id'],
    maxAge: Duration.hours(1),
  };
}

/** As API Gateway names a route. */
export function routeKey({ method, path }: Route): string {
  return `${method} ${path}`;
}

/** The burst of an account in a Region with the lower quota; elsewhere it is 5,000. */
const LOWEST_ACCOUNT_BURST = 1_250;

/** A burst is twice the rate, unless that is more than some Regions have for the whole account. */
function rate(perSecond: number): { throttlingRateLimit: number; throttlingBurstLimit: number } {
  const burst = Math.max(perSecond, Math.min(2 * perSecond, LOWEST_ACCOUNT_BURST));
  return { throttlingRateLimit: perSecond, throttlingBurstLimit: burst };
}

/** RouteSettings is a map of free keys to CloudFormation, so CDK does not translate what is in it. */
function pascal(properties: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, value]) => [`${name[0]?.toUpperCase()}${name.slice(1)}`, value]),
  );
}
