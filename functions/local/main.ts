/** `npm start`: the local service. */
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { BUILT_IN_CATALOGUE, type InstanceCatalogue } from '../core/bundle/model/catalogue.ts';
import { readCatalogue } from '../core/bundle/model/read-catalogue.ts';
import { checkMembership, DEFAULT_MEMBERSHIP, MembershipError } from '../core/membership.ts';
import { MAX_FUTURE_SKEW_MS } from '../core/snapshot/limits.ts';
import { checkSha256, type PageLinks } from '../runtime/settings.ts';
import { jsonLinesTelemetry } from '../runtime/telemetry.ts';
import type { LocalAccess } from './access.ts';
import { EngineInUseError } from './dynalite.ts';
import { TokenFile } from './first-admin-token.ts';
import { isLoopback } from './loopback-guard.ts';
import { type SampleAgents, startSampleAgents } from './sample-agents.ts';
import { sampleSeries } from './sample-series.ts';
import { pushSamples } from './samples.ts';
import { type Engine, type LocalService, startService } from './service.ts';

// The lock file pins the SDK, so what its future versions will ask of Node says nothing here.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

interface Options {
  readonly port: number;
  readonly host: string;
  readonly data: string;
  readonly memory: boolean;
  readonly endpoint?: string;
  readonly samples?: 'live' | 'once';
  readonly adminTokenFile?: string;
  readonly accessLog: boolean;
  readonly oidcIssuer?: string;
  readonly oidcClientId?: string;
  readonly grafanaUrl?: string;
  readonly auth: boolean;
  readonly adminTokenSha256?: string;
  readonly omitAfter: number;
  readonly retireAfter: number;
  readonly maxClockAhead: number;
  readonly announceRefreshes: boolean;
  readonly instanceTypes?: InstanceCatalogue;
}

function parsePort(value: string): number {
  const port = Number(value);
  if (/^\d+$/.test(value) && port <= 65_535) return port;
  throw new InvalidArgumentError('A port is an integer from 0 to 65535; 0 picks a free one.');
}

function parseEndpoint(value: string): string {
  if (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)) return value;
  throw new InvalidArgumentError('An endpoint is a URL such as http://127.0.0.1:8000.');
}

/** A provider on this machine may be without TLS, for trials. */
function parseIssuer(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const safe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (safe && url.username === '' && !/[\s;,'"]/.test(value)) return value;
  throw new InvalidArgumentError('An issuer is an https URL, as the iss of its tokens has it.');
}

function parseLink(value: string): string {
  if (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)) return value;
  throw new InvalidArgumentError('A link is a URL such as https://grafana.example.com/d/resource-map.');
}

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000 } as const;

/** Milliseconds of a duration such as 15m. */
function parseDuration(value: string): number {
  const [, digits, unit] = /^(\d{1,6})([smh])$/.exec(value) ?? [];
  if (digits !== undefined && unit !== undefined)
    return Number(digits) * UNIT_MS[unit as keyof typeof UNIT_MS];
  throw new InvalidArgumentError('A duration is a number of seconds, minutes or hours: 90s, 15m, 24h.');
}

function parseDigest(value: string): string {
  try {
    return checkSha256('The digest', value);
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}

function parseCatalogue(file: string): InstanceCatalogue {
  try {
    return readCatalogue(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}

const program = new Command('npm start --')
  .description('Runs the whole service in one process, on an embedded DynamoDB.')
  .addOption(
    new Option('-p, --port <number>', 'port to listen on; 0 picks a free one')
      .env('PORT')
      .default(8080)
      .argParser(parsePort),
  )
  .addOption(new Option('--host <address>', 'address to listen on').env('HOST').default('127.0.0.1'))
  .addOption(
    new Option('-d, --data <folder>', 'folder that keeps the data').env('DATA_DIR').default('.data/map'),
  )
  .addOption(new Option('--memory', 'keep the data in memory only').default(false).conflicts('endpoint'))
  .addOption(
    new Option('--endpoint <url>', 'use the DynamoDB at this endpoint instead of the embedded one')
      .env('DYNAMODB_ENDPOINT')
      .argParser(parseEndpoint),
  )
  .addOption(
    new Option(
      '--omit-after <duration>',
      'take a cluster out of the map when it has not pushed for this long',
    )
      .default(DEFAULT_MEMBERSHIP.omitAfterMs, '15m')
      .argParser(parseDuration),
  )
  .addOption(
    new Option('--retire-after <duration>', 'keep only the counter of a cluster that is out for this long')
      .default(DEFAULT_MEMBERSHIP.retireAfterMs, '24h')
      .argParser(parseDuration),
  )
  .addOption(
    new Option('--max-clock-ahead <duration>', 'refuse a snapshot that was collected further in the future')
      .default(MAX_FUTURE_SKEW_MS, '5m')
      .argParser(parseDuration),
  )
  .addOption(
    new Option(
      '--instance-types <file>',
      'capacity and cores of instance types, for bundles (docs/bundles.md)',
    )
      .env('INSTANCE_TYPES_FILE')
      .argParser(parseCatalogue),
  )
  .option('--announce-refreshes', 'also publish events for refresh-only pushes', false)
  .addOption(
    new Option('--auth', 'require bearer tokens; creates a first admin token and prints it once')
      .default(false)
      .conflicts('samples'),
  )
  .addOption(
    new Option('--admin-token-sha256 <digest>', "SHA-256 of the first admin's token, for --auth")
      .env('ADMIN_TOKEN_SHA256')
      .argParser(parseDigest),
  )
  .addOption(
    new Option(
      '--admin-token-file <file>',
      "where the first admin's token goes, if not to the terminal: <data>.admin-token",
    ).env('ADMIN_TOKEN_FILE'),
  )
  .option(
    '--access-log',
    'write a line for each request to standard error',
    process.env.ACCESS_LOG === 'true',
  )
  .addOption(
    new Option(
      '--oidc-issuer <url>',
      'the OpenID provider with which people sign in to the page, with --auth',
    )
      .env('OIDC_ISSUER')
      .argParser(parseIssuer),
  )
  .addOption(
    new Option('--oidc-client-id <id>', "the page's client id there, a public client").env('OIDC_CLIENT_ID'),
  )
  .addOption(
    new Option('--grafana-url <url>', 'where the page links to for the history')
      .env('GRAFANA_URL')
      .argParser(parseLink),
  )
  .addOption(
    new Option(
      '--samples [how]',
      'play the sample clusters, as their agents would, and show the map; "once" pushes them at start and no more',
    )
      .choices(['live', 'once'])
      .preset('live'),
  )
  .showHelpAfterError('(npm start -- --help lists the options)');

function engineOf({ endpoint, memory, data }: Options): Engine {
  if (endpoint !== undefined) return { kind: 'endpoint', endpoint };
  if (memory) return { kind: 'memory' };
  const folder = resolve(data);
  mkdirSync(folder, { recursive: true });
  return { kind: 'folder', folder };
}

/** What somebody asked for and would not get, since the options do not go together. */
function contradictionIn({
  auth,
  adminTokenSha256,
  memory,
  oidcIssuer,
  oidcClientId,
}: Options): string | undefined {
  if (adminTokenSha256 !== undefined && !auth)
    return '--admin-token-sha256 (ADMIN_TOKEN_SHA256) is of use with --auth only; without it the service asks nobody for a token.';
  if ((oidcIssuer === undefined) !== (oidcClientId === undefined))
    return '--oidc-issuer and --oidc-client-id go together; give both, or none and paste tokens.';
  if (oidcIssuer !== undefined && !auth)
    return '--oidc-issuer (OIDC_ISSUER) is of use with --auth only; without it nobody signs in.';
  if (memory && program.getOptionValueSource('data') === 'cli')
    return '--memory keeps nothing in a folder; give it or --data, not both.';
  return undefined;
}

function accessOf({ auth, adminTokenSha256 }: Options): LocalAccess {
  if (!auth) return { kind: 'open' };
  return { kind: 'tokens', ...(adminTokenSha256 === undefined ? {} : { adminTokenSha256 }) };
}

function pageOf({ oidcIssuer: issuer, oidcClientId: clientId, grafanaUrl: grafana }: Options): PageLinks {
  return {
    ...(issuer === undefined || clientId === undefined ? {} : { oidc: { issuer, clientId } }),
    ...(grafana === undefined ? {} : { grafana }),
  };
}

function describe(engine: Engine): string {
  switch (engine.kind) {
    case 'endpoint':
      return `the DynamoDB at ${engine.endpoint}`;
    case 'memory':
      return 'memory, gone at the end';
    case 'folder':
      return engine.folder;
  }
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

function explain(error: unknown, options: Options): string {
  if (error instanceof EngineInUseError) return error.message;
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'EADDRINUSE')
    return `Port ${options.port} is in use; choose another with --port, or 0 for a free one.`;
  if (code === 'EACCES')
    return `This user may not listen on port ${options.port} of ${options.host}; choose a port above 1023.`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `${options.host} is not an address of this machine; choose another with --host.`;
  if (options.endpoint !== undefined)
    return `The DynamoDB at ${options.endpoint} cannot be used: ${String(error)}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function closeOnSignal(service: LocalService): void {
  let closing = false;
  const close = async (signal: NodeJS.Signals): Promise<void> => {
    // A second Ctrl-C means now.
    if (closing) process.exit(130);
    closing = true;
    process.stderr.write(`${signal}: finishing the requests under way.\n`);
    await service.close();
    process.exit(0);
  };
  process.on('SIGINT', close);
  process.on('SIGTERM', close);
}

program.parse();
const options = program.opts<Options>();
const contradiction = contradictionIn(options);
if (contradiction !== undefined) program.error(`error: ${contradiction}`);
const engine = (() => {
  try {
    return engineOf(options);
  } catch (error) {
    return fail(`The folder ${options.data} cannot be used: ${(error as Error).message}`);
  }
})();
const membership = (() => {
  try {
    return checkMembership({ omitAfterMs: options.omitAfter, retireAfterMs: options.retireAfter });
  } catch (error) {
    if (!(error instanceof MembershipError)) throw error;
    return fail(error.message);
  }
})();
const tokenFile = openTokenFile(options);
const service = await startService({
  telemetry: jsonLinesTelemetry(undefined, options.accessLog),
  engine,
  port: options.port,
  host: options.host,
  membership,
  maxFutureSkewMs: options.maxClockAhead,
  announceRefreshes: options.announceRefreshes,
  catalogue: options.instanceTypes ?? BUILT_IN_CATALOGUE,
  access: accessOf(options),
  page: pageOf(options),
}).catch((error: unknown) => fail(explain(error, options)));
let agents: SampleAgents | undefined;
closeOnSignal({
  ...service,
  close: async () => {
    await agents?.stop();
    await service.close();
  },
});
if (options.samples !== undefined) {
  await pushSamples(service.url, (line) => process.stdout.write(`${line}\n`));
  if (options.samples === 'live') agents = startSampleAgents(service.url, await sampleSeries());
}
process.stdout.write(`Resource Map is ready at ${service.url} (data in ${describe(engine)}).\n`);
process.stdout.write(`Open ${service.url}/ in a browser to look at the map.\n`);
if (service.firstAdminToken !== undefined) {
  tokenFile?.write(service.firstAdminToken);
  process.stdout.write(
    (tokenFile === undefined
      ? `The first admin's token, shown this once: ${service.firstAdminToken}\n`
      : `The first admin's token is in ${tokenFile.path}, which only you can read.\n`) +
      'With it in RMAP_TOKEN, "rmap token issue" and "rmap trust add" let everybody else in.\n',
  );
} else tokenFile?.leave();
process.stdout.write(`${whoMayUse()} Ctrl-C ends it.\n`);

/** Before the service makes a token: one that could be written nowhere would be lost. */
function openTokenFile({ auth, adminTokenSha256, adminTokenFile, data }: Options): TokenFile | undefined {
  if (!auth || adminTokenSha256 !== undefined) return undefined;
  if (adminTokenFile === undefined && process.stdout.isTTY) return undefined;
  const path = adminTokenFile ?? `${resolve(data)}.admin-token`;
  try {
    mkdirSync(dirname(path), { recursive: true });
    return new TokenFile(path);
  } catch (error) {
    return fail(
      `The first admin's token cannot be written to ${path}: ${(error as Error).message}. Name another file with --admin-token-file.`,
    );
  }
}

function whoMayUse(): string {
  if (options.auth) return 'It asks for tokens.';
  if (isLoopback(options.host)) return 'It asks for no token and listens on this machine only.';
  return `It asks for NO TOKEN and listens on ${options.host}: anyone who reaches it can change the map (--auth asks).`;
}
