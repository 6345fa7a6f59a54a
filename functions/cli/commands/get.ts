import { writeFile } from 'node:fs/promises';
import { toBinary, toJsonString } from '@bufbuild/protobuf';
import { Command, Option } from 'commander';
import { MapReplica } from '../../client/replica.ts';
import { type GlobalResourceMap, GlobalResourceMapSchema } from '../../gen/resourcemap/v1/resource_map_pb.ts';
import { UsageError } from '../failure.ts';
import { type FilterOptions, filterOf, withFilterOptions } from '../filter-options.ts';
import { clientOf, type GlobalOptions, withGlobalOptions } from '../global-options.ts';
import { systemReason } from '../input-file.ts';
import { mapTable } from '../map-table.ts';
import { print } from '../print.ts';
import { type Remedies, withRemedies } from '../remedies.ts';
import { eventJson, eventLine } from '../replica-events.ts';

interface GetOptions extends GlobalOptions, FilterOptions {
  readonly output?: string;
  readonly watch: boolean;
}

const REMEDIES_OF_GET: Remedies = {
  map_too_large: ({ limit }) =>
    limit === undefined
      ? undefined
      : `The map has more than the ${limit} bytes that one response can carry; rmap get --watch fetches it in parts, and filters such as --cluster and --region narrow it.`,
};

export function getCommand(): Command {
  return withGlobalOptions(
    withFilterOptions(
      new Command('get')
        .description('fetch the merged map')
        .option(
          '-o, --output <file>',
          'write the whole map to a file: Protobuf, or ProtoJSON where its name ends in .json',
        )
        .addOption(
          new Option('-w, --watch', 'keep a replica of the map, and print what changes in it until Ctrl-C')
            .default(false)
            .conflicts('output'),
        ),
    ),
  ).action(async (options: GetOptions) => {
    if (options.watch) return watch(options);
    const response = await withRemedies(REMEDIES_OF_GET, () =>
      clientOf(options).map({ filter: filterOf(options) }),
    );
    // Without an etag of ours there is no "not modified".
    if (response.kind !== 'map') return;
    if (options.output !== undefined) await save(options.output, response.map);
    if (options.json) return print(toJsonString(GlobalResourceMapSchema, response.map));
    if (options.output === undefined) print(mapTable(response.map));
    else print(`${response.map.clusterResourceMaps.length} clusters written to ${options.output}`);
  });
}

/** Ends at Ctrl-C, or where the service refuses. */
async function watch(options: GetOptions): Promise<void> {
  const replica = new MapReplica(clientOf(options), { filter: filterOf(options) });
  let reported = false;
  for await (const event of replica.changes()) {
    if (options.json) print(eventJson(event));
    // A person has seen that the replica is complete, unless something came between.
    else if (event.kind !== 'complete' || !reported) print(eventLine(event));
    reported =
      event.kind === 'complete' || (reported && event.kind !== 'mismatch' && event.kind !== 'unreachable');
  }
}

async function save(file: string, map: GlobalResourceMap): Promise<void> {
  const content = file.endsWith('.json')
    ? toJsonString(GlobalResourceMapSchema, map)
    : toBinary(GlobalResourceMapSchema, map);
  try {
    await writeFile(file, content);
  } catch (cause) {
    throw new UsageError(`${file} cannot be written: ${systemReason(cause)}`, { cause });
  }
}
