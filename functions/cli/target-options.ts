/** The conditions on targets as options; each can be given several times, for alternatives. */

import type { Command } from 'commander';
import type { CapacityFilterInit } from '../client/client.ts';
import { didYouMean } from '../core/nearest.ts';
import { PurchaseModel } from '../gen/resourcemap/v1/resource_map_pb.ts';
import { UsageError } from './failure.ts';
import { type FilterOptions, repeatable, withFilterOptions } from './filter-options.ts';

export interface TargetOptions extends FilterOptions {
  readonly pool: readonly string[];
  readonly nodeType: readonly string[];
  readonly instanceType: readonly string[];
  readonly purchaseModel: readonly string[];
  readonly zone: readonly string[];
  readonly fabric: readonly string[];
  readonly rdmaReady?: true;
  readonly eligible?: true;
}

export function withTargetOptions(command: Command): Command {
  return withFilterOptions(command)
    .addOption(repeatable('--pool <id>', 'only this capacity pool'))
    .addOption(repeatable('--node-type <id>', 'only this node type'))
    .addOption(repeatable('--instance-type <name>', 'only this instance type'))
    .addOption(repeatable('--purchase-model <name>', 'only this purchase model, such as spot'))
    .addOption(repeatable('--zone <name>', 'only this zone'))
    .addOption(repeatable('--fabric <id>', 'only this fabric'))
    .option('--rdma-ready', 'only where the fabric is known to be RDMA-ready')
    .option('--eligible', 'only where new work may be placed');
}

/** @throws UsageError for a purchase model that there is not */
export function targetFilterOf(options: TargetOptions): CapacityFilterInit {
  return {
    cluster: [...options.cluster],
    provider: [...options.provider],
    region: [...options.region],
    site: [...options.site],
    acceleratorModel: [...options.acceleratorModel],
    pool: [...options.pool],
    nodeType: [...options.nodeType],
    instanceType: [...options.instanceType],
    purchaseModel: options.purchaseModel.map(purchaseModelOf),
    zone: [...options.zone],
    fabric: [...options.fabric],
    ...(options.rdmaReady === undefined ? {} : { rdmaReady: true }),
    ...(options.eligible === undefined ? {} : { eligible: true }),
  };
}

const PURCHASE_MODELS: ReadonlyMap<string, PurchaseModel> = new Map([
  ['unspecified', PurchaseModel.UNSPECIFIED],
  ['on_demand', PurchaseModel.ON_DEMAND],
  ['spot', PurchaseModel.SPOT],
  ['flex_start', PurchaseModel.FLEX_START],
  ['fixed_asset', PurchaseModel.FIXED_ASSET],
  ['reserved', PurchaseModel.RESERVED],
]);

export function purchaseModelOf(name: string): PurchaseModel {
  return oneOf('--purchase-model', PURCHASE_MODELS, name.replaceAll('-', '_'));
}

/** The value that a name stands for. @throws UsageError that names what it can be */
export function oneOf<T>(option: string, known: ReadonlyMap<string, T>, name: string): T {
  const value = known.get(name);
  if (value !== undefined) return value;
  const names = [...known.keys()];
  throw new UsageError(
    `${option} is ${JSON.stringify(name)}${didYouMean(name, names, `it can be ${names.join(', ')}`)}`,
  );
}
