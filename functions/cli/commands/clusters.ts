import { create, toJsonString } from '@bufbuild/protobuf';
import { Command } from 'commander';
import { ClusterListSchema, ClusterStatusSchema } from '../../gen/resourcemap/v1/service_pb.ts';
import { clusterTable, refusalLines } from '../../terminal/cluster-table.ts';
import { findingLines } from '../failure.ts';
import { clientOf, type GlobalOptions, withGlobalOptions } from '../global-options.ts';
import { parseClusterId } from '../id-arguments.ts';
import { print } from '../print.ts';

export function clustersCommand(): Command {
  return withGlobalOptions(
    new Command('clusters')
      .description('list clusters, or show one')
      .argument('[id]', 'a cluster id', parseClusterId),
  ).action(async (id: string | undefined, options: GlobalOptions) => {
    const client = clientOf(options);
    if (id !== undefined) {
      const status = await client.cluster(id);
      if (options.json) return print(toJsonString(ClusterStatusSchema, status, { alwaysEmitImplicit: true }));
      print(clusterTable([status]));
      for (const line of refusalLines(status)) print(line);
      const shown = status.warnings.length;
      for (const line of findingLines(status.warnings, shown > 0 ? status.warningCount - shown : 0))
        print(line);
      return;
    }
    const clusters = [...(await client.clusters())];
    if (options.json) {
      return print(
        toJsonString(ClusterListSchema, create(ClusterListSchema, { clusters }), {
          alwaysEmitImplicit: true,
        }),
      );
    }
    print(
      clusters.length === 0
        ? 'No cluster was ever pushed; rmap push FILE pushes one.'
        : clusterTable(clusters),
    );
  });
}
