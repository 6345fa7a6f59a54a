/** The tables. Whatever happens to the stack, they stay, unless the stage says that it is throw-away. */
import { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, BillingMode, StreamViewType, Table } from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';
import { BUNDLES_KEY } from '../functions/storage/bundles.ts';
import { CLAIMS_KEY } from '../functions/storage/ledgers.ts';
import { POOLS_KEY } from '../functions/storage/pools.ts';
import { REGISTRATIONS_KEY, REGISTRATIONS_TTL } from '../functions/storage/registrations.ts';
import { CONTENTS_KEY, CONTENTS_TTL, HEADS_KEY } from '../functions/storage/tables.ts';
import type { TableName } from './functions.ts';

export interface DataProps {
  readonly throwAway: boolean;
}

export class Data extends Construct {
  readonly tables: Readonly<Record<TableName, Table>>;

  constructor(scope: Construct, id: string, { throwAway }: DataProps) {
    super(scope, id);
    const kept = {
      billingMode: BillingMode.PAY_PER_REQUEST,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: !throwAway,
      removalPolicy: throwAway ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN,
    };
    this.tables = {
      heads: new Table(this, 'Heads', {
        ...kept,
        partitionKey: { name: HEADS_KEY.partition, type: AttributeType.STRING },
        sortKey: { name: HEADS_KEY.sort, type: AttributeType.STRING },
        // Both images: a notification says what was before.
        stream: StreamViewType.NEW_AND_OLD_IMAGES,
      }),
      bodies: new Table(this, 'Bodies', {
        ...kept,
        partitionKey: { name: CONTENTS_KEY.partition, type: AttributeType.BINARY },
        sortKey: { name: CONTENTS_KEY.sort, type: AttributeType.NUMBER },
        timeToLiveAttribute: CONTENTS_TTL,
      }),
      trust: new Table(this, 'Trust', {
        ...kept,
        partitionKey: { name: REGISTRATIONS_KEY.partition, type: AttributeType.STRING },
        sortKey: { name: REGISTRATIONS_KEY.sort, type: AttributeType.STRING },
        timeToLiveAttribute: REGISTRATIONS_TTL,
      }),
      claims: new Table(this, 'Claims', {
        ...kept,
        partitionKey: { name: CLAIMS_KEY.partition, type: AttributeType.STRING },
        sortKey: { name: CLAIMS_KEY.sort, type: AttributeType.STRING },
        // Both images: an event says what a claim was before.
        stream: StreamViewType.NEW_AND_OLD_IMAGES,
      }),
      bundles: new Table(this, 'Bundles', {
        ...kept,
        partitionKey: { name: BUNDLES_KEY.partition, type: AttributeType.STRING },
        sortKey: { name: BUNDLES_KEY.sort, type: AttributeType.STRING },
        // Both images: an event says what a bundle was before.
        stream: StreamViewType.NEW_AND_OLD_IMAGES,
      }),
      pools: new Table(this, 'Pools', {
        ...kept,
        partitionKey: { name: POOLS_KEY.partition, type: AttributeType.STRING },
        sortKey: { name: POOLS_KEY.sort, type: AttributeType.STRING },
      }),
    };
  }
}
