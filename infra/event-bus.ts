/** The bus on which changes are told, and its archive, from which a consumer that was down can be caught up. */
import { Duration } from 'aws-cdk-lib';
import { Archive, EventBus } from 'aws-cdk-lib/aws-events';
import { Construct } from 'constructs';

export interface ChangeBusProps {
  readonly stage: string;
  readonly archiveDays: number;
}

export class ChangeBus extends Construct {
  readonly bus: EventBus;

  constructor(scope: Construct, id: string, { stage, archiveDays }: ChangeBusProps) {
    super(scope, id);
    this.bus = new EventBus(this, 'Bus', {
      eventBusName: `resource-map-${stage}`,
      description: `What changed on the map, ${stage}`,
    });
    new Archive(this, 'Archive', {
      sourceEventBus: this.bus,
      archiveName: `resource-map-${stage}`,
      description: `Every change of the last ${archiveDays} days, for replay`,
      eventPattern: { source: ['resource-map'] },
      retention: Duration.days(archiveDays),
    });
  }
}
