import { toBinary, toJsonString } from '@bufbuild/protobuf';
import { Command, Option } from 'commander';
import { ClusterResourceMapSchema } from '../../gen/resourcemap/v1/resource_map_pb.ts';
import { printable } from '../../terminal/printable.ts';
import { agentFailure } from '../agent-failure.ts';
import { withClusterId } from '../agent-options.ts';

interface SnapshotOptions {
  readonly from?: readonly string[];
  readonly cluster?: string;
  readonly settings?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly output: 'json' | 'protobuf';
}

export function snapshotCommand(): Command {
  return new Command('snapshot')
    .description('make one snapshot of a Kubernetes cluster, and print it')
    .option(
      '--from <path...>',
      'read these files and folders, as kubectl get … -o json or yaml writes them, in place of a cluster',
    )
    .option('--cluster <id>', 'the id of the cluster; the UID of the namespace kube-system if not given')
    .option('--settings <file>', 'settings of the agent, in YAML or JSON')
    .option('--kubeconfig <file>', 'in place of KUBECONFIG, ~/.kube/config and the account of a pod')
    .option('--context <name>', 'a context of the kubeconfig, in place of its current one')
    .addOption(
      new Option('-o, --output <form>', 'how to print it').choices(['json', 'protobuf']).default('json'),
    )
    .addHelpText(
      'after',
      '\nWhat the map cannot express goes to standard error. rmap validate checks the snapshot, and rmap push pushes it.\nFor a first look: kubectl get nodes,pods -A -o json > dump.json && rmap snapshot --cluster mine --from dump.json',
    )
    .action(async (options: SnapshotOptions) => {
      // Only here: no other command is to load what reads clusters.
      const [{ oneSnapshot }, { readSettingsFile }] = await Promise.all([
        import('../../agent/one-snapshot.ts'),
        import('../../agent/settings-file.ts'),
      ]);
      try {
        const { snapshot, notes, unused } = await oneSnapshot({
          settings: withClusterId(readSettingsFile(options.settings), options.cluster),
          from: options.from,
          kubeconfig: { file: options.kubeconfig, context: options.context },
        });
        for (const { object, message } of notes)
          process.stderr.write(`${printable(`${object} ${message}`)}\n`);
        for (const [kind, count] of unused)
          process.stderr.write(`${printable(`Not used: ${count} of kind ${kind}`)}\n`);
        process.stdout.write(
          options.output === 'json'
            ? `${toJsonString(ClusterResourceMapSchema, snapshot, { prettySpaces: 2 })}\n`
            : toBinary(ClusterResourceMapSchema, snapshot),
        );
      } catch (error) {
        throw agentFailure(error);
      }
    });
}
