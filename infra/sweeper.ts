/** Calls a sweeper every minute. */
import { Duration, Stack, Validations } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { SqsDestination } from 'aws-cdk-lib/aws-lambda-destinations';
import { Schedule, ScheduleExpression, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { ServiceFunction } from './service-function.ts';

export interface SweeperProps {
  /** Of the schedule. */
  readonly name: string;
  readonly description: string;
  readonly stage: string;
  /** Calls nothing: each sweep that Lambda turned away would be a dead letter. */
  readonly paused: boolean;
  readonly sweeper: ServiceFunction;
  readonly deadLetters: Queue;
}

export const SWEEP_INTERVAL = Duration.minutes(1);

export class Sweeper extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { name, description, stage, paused, sweeper, deadLetters }: SweeperProps,
  ) {
    super(scope, id);
    // The next sweep comes before a repeat would, and takes up what this one left.
    sweeper.lambda.configureAsyncInvoke({
      retryAttempts: 0,
      maxEventAge: SWEEP_INTERVAL,
      onFailure: new SqsDestination(deadLetters),
    });
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
      description: `What the schedule of resource-map-${stage} may do`,
    });
    new Schedule(this, 'Schedule', {
      scheduleName: `resource-map-${stage}-${name}`,
      description,
      schedule: ScheduleExpression.rate(SWEEP_INTERVAL),
      enabled: !paused,
      target: new LambdaInvoke(sweeper.lambda, {
        role,
        input: ScheduleTargetInput.fromObject({}),
        retryAttempts: 0,
        maxEventAge: SWEEP_INTERVAL,
        deadLetterQueue: deadLetters,
      }),
    });
    const { node } = sweeper.lambda;
    if (!(node.defaultChild instanceof CfnFunction))
      throw new Error('The function is not the resource it was.');
    Validations.of(role).acknowledge({
      id: `AwsSolutions-IAM5[Resource::<${Stack.of(this).getLogicalId(node.defaultChild)}.Arn>:*]`,
      reason: 'The role of the schedule may invoke the one function, in any of its versions.',
    });
  }
}
