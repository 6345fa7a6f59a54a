import { toJsonString } from '@bufbuild/protobuf';
import { Command } from 'commander';
import { CapacityResponseSchema, GroupKey, GroupKeySchema } from '../../gen/resourcemap/v1/capacity_pb.ts';
import { groupTable, targetTable } from '../capacity-table.ts';
import { clientOf, type GlobalOptions, withGlobalOptions } from '../global-options.ts';
import { print } from '../print.ts';
import { oneOf, type TargetOptions, targetFilterOf, withTargetOptions } from '../target-options.ts';

interface CapacityCommandOptions extends GlobalOptions, TargetOptions {
  readonly groupBy?: string;
}

const GROUP_KEYS: ReadonlyMap<string, GroupKey> = new Map(
  GroupKeySchema.values
    .filter(({ number }) => number !== GroupKey.UNSPECIFIED)
    .map(({ localName, number }) => [localName.toLowerCase(), number]),
);

export function capacityCommand(): Command {
  return withGlobalOptions(
    withTargetOptions(
      new Command('capacity')
        .description('show free capacity, by cluster, pool and node type')
        .option(
          '--group-by <names>',
          `sums by these, with commas between: ${[...GROUP_KEYS.keys()].join(', ')}`,
        ),
    ),
  ).action(async (options: CapacityCommandOptions) => {
    const names = (options.groupBy ?? '').split(',').filter((name) => name !== '');
    const groupBy = names.map((name) => oneOf('--group-by', GROUP_KEYS, name.trim().replaceAll('-', '_')));
    const response = await clientOf(options).capacity({ filter: targetFilterOf(options), groupBy });
    if (options.json) {
      return print(toJsonString(CapacityResponseSchema, response, { alwaysEmitImplicit: true }));
    }
    print(
      groupBy.length === 0
        ? targetTable(response.targets)
        : groupTable(
            response.groups,
            groupBy.map((key) => (GroupKey[key] ?? '').replaceAll('_', ' ')),
          ),
    );
  });
}
