/** The bus on which changes are published, and its archive, from which a consumer that was down can be caught up. */
import { CfnResource, Duration, Stack } from 'aws-cdk-lib';
import { Archive, EventBus } from 'aws-cdk-lib/aws-events';
import { AccountPrincipal } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';

export interface ChangeBusProps {
  readonly stage: string;
  readonly archiveDays: number;
  /** Accounts that may make rules of their own on it. */
  readonly consumerAccounts: readonly string[];
}

export class ChangeBus extends Construct {
  readonly bus: EventBus;

  constructor(scope: Construct, id: string, { stage, archiveDays, consumerAccounts }: ChangeBusProps) {
    super(scope, id);
    this.bus = new EventBus(this, 'Bus', {
      eventBusName: `resource-map-${stage}`,
      description: `What changed on the map, ${stage}`,
    });
    if (consumerAccounts.length > 0) {
      // Their rules, and those alone: what others put on the bus would look like changes of the map.
      // Not CfnEventBusPolicy, which warns at each synthesis of a deprecated property that is not set.
      new CfnResource(this, 'Consumers', {
        type: 'AWS::Events::EventBusPolicy',
        properties: {
          EventBusName: this.bus.eventBusName,
          StatementId: 'ConsumersMayMakeRules',
          Statement: {
            Effect: 'Allow',
            Principal: { AWS: consumerAccounts.map((account) => new AccountPrincipal(account).arn) },
            Action: [
              'events:PutRule',
              'events:DeleteRule',
              'events:DescribeRule',
              'events:DisableRule',
              'events:EnableRule',
              'events:PutTargets',
              'events:RemoveTargets',
              'events:ListTargetsByRule',
            ],
            Resource: Stack.of(this).formatArn({
              service: 'events',
              resource: 'rule',
              resourceName: `${this.bus.eventBusName}/*`,
            }),
            // An account changes its own rules, and none of another's.
            Condition: { StringEqualsIfExists: { 'events:creatorAccount': `\${aws:PrincipalAccount}` } },
          },
        },
      });
    }
    new Archive(this, 'Archive', {
      sourceEventBus: this.bus,
      archiveName: `resource-map-${stage}`,
      description: `Every change of the last ${archiveDays} days, for replay`,
      eventPattern: { source: ['resource-map'] },
      retention: Duration.days(archiveDays),
    });
  }
}
