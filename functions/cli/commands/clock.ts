import { create, toJsonString } from '@bufbuild/protobuf';
import { Command } from 'commander';
import { VectorClockSchema } from '../../gen/resourcemap/v1/service_pb.ts';
import { table } from '../../terminal/table.ts';
import { type FilterOptions, filterOf, withFilterOptions } from '../filter-options.ts';
import { clientOf, type GlobalOptions, withGlobalOptions } from '../global-options.ts';
import { NO_CLUSTER } from '../map-table.ts';
import { print } from '../print.ts';

export function clockCommand(): Command {
  return withGlobalOptions(
    withFilterOptions(new Command('clock').description('show the counter of every cluster in the map')),
  ).action(async (options: GlobalOptions & FilterOptions) => {
    const clock = await clientOf(options).clock({ filter: filterOf(options) });
    if (options.json) {
      // fromEntries defines properties, so no id can reach the object's prototype.
      const message = create(VectorClockSchema, { vectorClock: Object.fromEntries(clock) });
      return print(toJsonString(VectorClockSchema, message, { alwaysEmitImplicit: true }));
    }
    if (clock.size === 0) return print(NO_CLUSTER);
    print(
      table(
        [{ title: 'CLUSTER' }, { title: 'COUNTER', align: 'right' }],
        [...clock].map(([id, counter]) => [id, String(counter)]),
      ),
    );
  });
}
