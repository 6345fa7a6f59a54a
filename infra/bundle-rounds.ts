/** Has the stored bundles reconciled every minute, by the function that plans. */
import { Duration, Stack, Validations } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { Schedule, ScheduleExpression, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { ROUND_EVENT } from '../functions/lambdas/plan/round-event.ts';
import type { ServiceFunction } from './service-function.ts';

export interface BundleRoundsProps {
  readonly stage: string;
  readonly plan: ServiceFunction;
  readonly deadLetters: Queue;
}

export const ROUND_INTERVAL = Duration.minutes(1);

export class BundleRounds extends Construct {
  constructor(scope: Construct, id: string, { stage, plan, deadLetters }: BundleRoundsProps) {
    super(scope, id);
    // The next round comes before a repeat would, and takes up what this one left.
    plan.lambda.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: ROUND_INTERVAL });
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
      description: `What the schedule of bundles of resource-map-${stage} may do`,
    });
    new Schedule(this, 'Schedule', {
      scheduleName: `resource-map-${stage}-bundles`,
      description: 'Keeps stored bundles placed',
      schedule: ScheduleExpression.rate(ROUND_INTERVAL),
      target: new LambdaInvoke(plan.lambda, {
        role,
        input: ScheduleTargetInput.fromObject(ROUND_EVENT),
        retryAttempts: 0,
        maxEventAge: ROUND_INTERVAL,
        deadLetterQueue: deadLetters,
      }),
    });
    const { node } = plan.lambda;
    if (!(node.defaultChild instanceof CfnFunction))
      throw new Error('The function is not the resource it was.');
    Validations.of(role).acknowledge({
      id: `AwsSolutions-IAM5[Resource::<${Stack.of(this).getLogicalId(node.defaultChild)}.Arn>:*]`,
      reason: 'The role of the schedule may invoke the one function, in any of its versions.',
    });
  }
}
