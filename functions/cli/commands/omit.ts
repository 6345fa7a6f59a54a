import { toJsonString } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { Command } from 'commander';
import {
  ClusterState,
  type ClusterStatus,
  ClusterStatusSchema,
} from '../../gen/resourcemap/v1/service_pb.ts';
import { printable } from '../../terminal/printable.ts';
import { clientOf, type GlobalOptions, withGlobalOptions } from '../global-options.ts';
import { parseClusterId } from '../id-arguments.ts';
import { print } from '../print.ts';

interface OmitCommandOptions extends GlobalOptions {
  readonly reason?: string;
}

export function omitCommand(): Command {
  return withGlobalOptions(
    new Command('omit')
      .description('take a cluster out of the map until its next push; its counter is kept')
      .argument('<id>', 'a cluster id', parseClusterId)
      .option('--reason <text>', 'shown with the status of the cluster; "deleted" where not given'),
  ).action(async (id: string, options: OmitCommandOptions) => {
    const { json, reason } = options;
    const client = clientOf(options);
    // The response is the same of one that was out already, with the time and the reason that it has.
    const before = json ? undefined : await client.cluster(id);
    const status = await client.omit(id, reason === undefined ? {} : { reason });
    if (json) return print(toJsonString(ClusterStatusSchema, status, { alwaysEmitImplicit: true }));
    print(omittedLine(id, status, before?.state === ClusterState.OMITTED));
  });
}

/** The time and the reason are the service's: a cluster that was out already keeps those that it has. */
function omittedLine(id: string, { omittedAt, omittedReason }: ClusterStatus, wasOut: boolean): string {
  const since = omittedAt === undefined ? '' : ` since ${timestampDate(omittedAt).toISOString()}`;
  if (wasOut) {
    return printable(
      `Cluster ${id} was already omitted${since} (reason unchanged: ${omittedReason}); its next push brings it back.`,
    );
  }
  return printable(
    `Cluster ${id} is out of the map${since} (${omittedReason}); its next push brings it back.`,
  );
}
