import { toJsonString } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { Command } from 'commander';
import { type ClusterStatus, ClusterStatusSchema } from '../../gen/resourcemap/v1/service_pb.ts';
import { clientOf, type GlobalOptions, withGlobalOptions } from '../global-options.ts';
import { parseClusterId } from '../id-arguments.ts';
import { print } from '../print.ts';
import { printable } from '../printable.ts';

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
    const { reason } = options;
    const status = await clientOf(options).omit(id, reason === undefined ? {} : { reason });
    print(
      options.json
        ? toJsonString(ClusterStatusSchema, status, { alwaysEmitImplicit: true })
        : omittedLine(id, status),
    );
  });
}

/** The time and the reason are the service's: a cluster that was out already keeps those that it has. */
function omittedLine(id: string, { omittedAt, omittedReason }: ClusterStatus): string {
  const since = omittedAt === undefined ? '' : ` since ${timestampDate(omittedAt).toISOString()}`;
  return printable(
    `Cluster ${id} is out of the map${since} (${omittedReason}); its next push brings it back.`,
  );
}
