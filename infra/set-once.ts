/**
 * A value that holds from the first deploy on. CDK keeps a stack's parameters from one deploy
 * to the next, so the parameter remembers what the first said, and the rule compares it with
 * what the template says now: CloudFormation refuses the update before it touches anything.
 */
import { CfnParameter, CfnRule, Fn } from 'aws-cdk-lib';
import { Construct } from 'constructs';

export interface SetOnceProps {
  /** The setting's name. */
  readonly setting: string;
  readonly value: string;
  /** What would happen. */
  readonly danger: string;
}

export class SetOnce extends Construct {
  constructor(scope: Construct, id: string, { setting, value, danger }: SetOnceProps) {
    super(scope, id);
    const first = new CfnParameter(this, 'First', {
      default: value,
      description: `The setting ${setting} as it was at the first deploy. Leave it as it is.`,
    });
    const rule = new CfnRule(this, 'Rule');
    rule.addAssertion(
      Fn.conditionEquals(first, value),
      `The setting ${setting} is now ${value}, and was another when this stack was first deployed. ${danger} Set it back.`,
    );
  }
}
