import { Command } from 'commander';
import { printable } from '../../terminal/printable.ts';
import { agentFailure } from '../agent-failure.ts';
import { withClusterId } from '../agent-options.ts';
import { EXIT } from '../exit-codes.ts';
import { UsageError } from '../failure.ts';
import { type GlobalOptions, serviceOf, withGlobalOptions } from '../global-options.ts';
import { readNamed } from '../input-file.ts';
import { print } from '../print.ts';

interface AgentOptions extends GlobalOptions {
  readonly cluster?: string;
  readonly settings?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly minInterval: number;
  readonly heartbeat: number;
  readonly lease?: string;
  readonly health?: string;
  readonly omitOnExit: boolean;
}

interface ManifestOptions extends GlobalOptions {
  readonly cluster?: string;
  readonly settings?: string;
  readonly namespace: string;
  readonly image: string;
  readonly audience: string;
  readonly replicas: number;
}

/** Nothing pulls this by accident: who applies the manifest names the image that they built. */
const IMAGE_PLACEHOLDER = 'registry.example/resource-map:REPLACE-ME';

export function agentCommand(): Command {
  const command = withGlobalOptions(
    new Command('agent')
      .description('keep the map of a Kubernetes cluster as the cluster is')
      .option('--cluster <id>', 'the id of the cluster; the UID of the namespace kube-system if not given')
      .option('--settings <file>', 'settings of the agent, in YAML or JSON')
      .option('--kubeconfig <file>', 'in place of KUBECONFIG, ~/.kube/config and the account of the pod')
      .option('--context <name>', 'a context of the kubeconfig, in place of its current one')
      .option(
        '--min-interval <seconds>',
        'pushes a change no sooner than this after the last push',
        seconds('--min-interval', 0),
        2,
      )
      .option(
        '--heartbeat <seconds>',
        'pushes after this long without a change',
        seconds('--heartbeat', 1),
        60,
      )
      .option('--lease <namespace/name>', 'pushes only while it holds this Lease: for two replicas')
      .option('--health <host:port>', 'serves /healthz, /readyz and /metrics there')
      .option('--omit-on-exit', 'takes the cluster out of the map when it is stopped', false)
      .addHelpText('after', '\nIt runs until it is stopped. rmap snapshot shows what it would push.'),
  ).action(async (options: AgentOptions) => {
    const [{ runAgent }, { readSettingsFile }] = await Promise.all([
      import('../../agent/agent.ts'),
      import('../../agent/settings-file.ts'),
    ]);
    const stop = new AbortController();
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
    try {
      await runAgent(
        {
          service: serviceOf(options),
          settings: withClusterId(readSettingsFile(options.settings), options.cluster),
          kubeconfig: { file: options.kubeconfig, context: options.context },
          lease: leaseName(options.lease),
          minIntervalMs: options.minInterval * 1_000,
          heartbeatMs: options.heartbeat * 1_000,
          omitOnExit: options.omitOnExit,
          health: address(options.health),
          log: (message) => process.stderr.write(`${new Date().toISOString()} ${printable(message)}\n`),
        },
        stop.signal,
      );
    } catch (error) {
      if (error instanceof Error && error.name === 'HeartbeatTooSlowError') {
        process.stderr.write(`${printable(error.message)}\n`);
        process.exitCode = EXIT.usage;
      } else throw agentFailure(error);
    }
  });
  return command.addCommand(manifestCommand()).addCommand(schemaCommand());
}

function manifestCommand(): Command {
  return new Command('manifest')
    .description('print what runs the agent in a cluster, for kubectl apply -f -')
    .configureHelp({ showGlobalOptions: true })
    .option('--namespace <name>', 'where it runs', 'resource-map')
    .option(
      '--image <image>',
      'an image with rmap; build it with the Dockerfile of Resource Map',
      IMAGE_PLACEHOLDER,
    )
    .option('--audience <name>', 'of its token, as the service registers it', 'resource-map')
    .option('--replicas <count>', 'of which one pushes', count, 1)
    .addHelpText(
      'after',
      '\n--url is the service as the cluster reaches it. --settings is checked, and put into a ConfigMap.',
    )
    .action(async (_: unknown, manifest: Command) => {
      const options: ManifestOptions = manifest.optsWithGlobals();
      if (manifest.parent?.getOptionValueSource('url') === 'default')
        throw new UsageError('Name the service, as the cluster reaches it, with --url.');
      const [{ manifestOf }, { readSettingsFile }] = await Promise.all([
        import('../../agent/manifest.ts'),
        import('../../agent/settings-file.ts'),
      ]);
      serviceOf(options);
      try {
        const settings = withClusterId(readSettingsFile(options.settings), options.cluster);
        const text = manifestOf({
          ...options,
          clusterId: options.cluster,
          settings,
          settingsText:
            options.settings === undefined
              ? undefined
              : Buffer.from(await readNamed(options.settings)).toString('utf8'),
        });
        print(text.trimEnd());
        if (options.image === IMAGE_PLACEHOLDER)
          process.stderr.write(
            `The image is a placeholder, ${IMAGE_PLACEHOLDER}: build one, and name it with --image.\n`,
          );
      } catch (error) {
        throw agentFailure(error);
      }
    });
}

function schemaCommand(): Command {
  return new Command('schema').description('print the JSON Schema of the settings file').action(async () => {
    const { settingsSchema } = await import('../../agent/mapping/settings.ts');
    print(JSON.stringify(settingsSchema(), undefined, 2));
  });
}

const MAX_SECONDS = 86_400;

function seconds(option: string, least: number): (value: string) => number {
  return (value) => {
    const number = /^\d{1,6}(?:\.\d{1,3})?$/.test(value) ? Number(value) : Number.NaN;
    if (number >= least && number <= MAX_SECONDS) return number;
    throw new UsageError(
      `${option} is ${JSON.stringify(value)}; it takes seconds, from ${least} to ${MAX_SECONDS}.`,
    );
  };
}

function count(value: string): number {
  if (/^[1-9]$/.test(value)) return Number(value);
  throw new UsageError(`--replicas is ${JSON.stringify(value)}; it takes a number from 1 to 9.`);
}

function leaseName(value: string | undefined): { namespace: string; name: string } | undefined {
  if (value === undefined) return undefined;
  const [, namespace, name] = /^([a-z0-9-]{1,63})\/([a-z0-9.-]{1,253})$/.exec(value) ?? [];
  if (namespace === undefined || name === undefined)
    throw new UsageError(
      `--lease is ${JSON.stringify(value)}; it takes a namespace and a name, such as resource-map/resource-map-agent.`,
    );
  return { namespace, name };
}

function address(value: string | undefined): { host: string; port: number } | undefined {
  if (value === undefined) return undefined;
  const [, host, port] = /^(?:(.+):)?(\d{1,5})$/.exec(value) ?? [];
  if (port === undefined || Number(port) > 65_535)
    throw new UsageError(
      `--health is ${JSON.stringify(value)}; it takes a host and a port, such as 0.0.0.0:8081.`,
    );
  return { host: host ?? '127.0.0.1', port: Number(port) };
}
