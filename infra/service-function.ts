/** A Lambda function with a role and a log group of its own, and no right that it does not need. */
import { Duration, RemovalPolicy, Validations } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  Architecture,
  Code,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
  SystemLogLevel,
  Tracing,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { BUNDLE_HANDLER } from './bundling.ts';
import type { Data } from './data.ts';
import { FUNCTIONS, type FunctionName, type TableName } from './functions.ts';

export interface ServiceFunctionProps {
  readonly function: FunctionName;
  readonly stage: string;
  /** Where its bundle lies. */
  readonly bundleFolder: string;
  readonly data: Data;
  readonly environment: Readonly<Record<string, string>>;
  readonly logDays: RetentionDays;
  /** Whether requests are sampled to X-Ray. */
  readonly tracing: boolean;
  /** Executions kept for it alone, and the most that it takes at a time. */
  readonly reservedConcurrency?: number | undefined;
  /** Lets no invocation through. */
  readonly paused: boolean;
}

/** All of them. */
export type ServiceFunctions = Readonly<Record<FunctionName, ServiceFunction>>;

export class ServiceFunction extends Construct {
  readonly lambda: LambdaFunction;
  readonly logGroup: LogGroup;
  readonly role: Role;

  constructor(scope: Construct, id: string, props: ServiceFunctionProps) {
    super(scope, id);
    const definition = FUNCTIONS[props.function];
    const functionName = `resource-map-${props.stage}-${props.function}`;
    this.logGroup = new LogGroup(this, 'Logs', {
      logGroupName: `/aws/lambda/${functionName}`,
      retention: props.logDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      description: `What ${functionName} may do`,
    });
    this.logGroup.grantWrite(this.role);
    this.lambda = new LambdaFunction(this, 'Function', {
      functionName,
      description: definition.description,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      code: Code.fromAsset(props.bundleFolder),
      handler: BUNDLE_HANDLER,
      memorySize: definition.memoryMb,
      timeout: Duration.seconds(definition.timeoutSeconds),
      role: this.role,
      logGroup: this.logGroup,
      loggingFormat: LoggingFormat.JSON,
      // Lambda's three lines an invocation tell nothing that its metrics do not, and cost more than the invocation.
      systemLogLevelV2: SystemLogLevel.WARN,
      tracing: props.tracing ? Tracing.ACTIVE : Tracing.DISABLED,
      ...reserved(props),
      environment: { NODE_OPTIONS: '--enable-source-maps', ...props.environment },
    });
    for (const [table, actions] of Object.entries(definition.tableActions) as [
      TableName,
      readonly string[],
    ][]) {
      this.role.addToPolicy(
        new PolicyStatement({ actions: [...actions], resources: [props.data.tables[table].tableArn] }),
      );
    }
    if (!props.tracing && props.function !== 'notify') return;
    Validations.of(this.role).acknowledge({
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason:
        'Sending traces, and listing the streams of tables, are actions without resources: they can be allowed on * alone.',
    });
  }
}

function reserved({ paused, reservedConcurrency }: ServiceFunctionProps): {
  reservedConcurrentExecutions?: number;
} {
  if (paused) return { reservedConcurrentExecutions: 0 };
  return reservedConcurrency === undefined ? {} : { reservedConcurrentExecutions: reservedConcurrency };
}
