/**
 * The settings of a deployment, from CDK context: `-c name=value` on the command line, or
 * `cdk.json`, where `stages` holds those of each stage. The command line wins.
 *
 * A wrong one fails the synthesis with its name, its value and what may stand in its place;
 * so does one that does not exist, since a misspelt setting would silently not be set.
 */
import { readFileSync } from 'node:fs';
import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { CatalogueError, readCatalogue } from '../functions/core/bundle/model/read-catalogue.ts';
import {
  checkMembership,
  DEFAULT_MEMBERSHIP,
  type Membership,
  MembershipError,
} from '../functions/core/membership.ts';
import { nearestOf } from '../functions/core/nearest.ts';
import { MAX_FUTURE_SKEW_MS } from '../functions/core/snapshot/limits.ts';
import { MAX_WAIT_SECONDS } from '../functions/http/limits.ts';
import type { PageLinks } from '../functions/runtime/settings.ts';
import { DEFAULT_SHARDS } from '../functions/storage/tables.ts';

/** The settings of a deployment; durations are in seconds. */
export interface Settings {
  /** Part of every name, so that stages stand side by side in one account. */
  readonly stage: string;
  /** A stage whose data goes with it: tables are deleted with the stack. Never for real clusters. */
  readonly throwAway: boolean;
  /** Nothing is served and nothing swept, until it is false again: for restoring data. */
  readonly paused: boolean;
  /** Partitions of the heads, set once. */
  readonly shards: number;
  /** Seconds of silence after which a cluster is taken out of the map, and seconds out of it after which its head is retired. */
  readonly omitAfter: number;
  readonly retireAfter: number;
  /** How far ahead of the service's clock a snapshot may have been collected. */
  readonly maxClockAheadSeconds: number;
  /** Accelerators that the claims of one owner may hold in one cluster; absent: no bound. */
  readonly maxOwnerAccelerators?: number;
  /** Whether a push that changed nothing but counter and time is told as well. */
  readonly announceRefreshes: boolean;
  /** Requests of agents and of schedulers that API Gateway lets through in a second; bursts may be twice that. */
  readonly pushesPerSecond: number;
  readonly readsPerSecond: number;
  /** Executions that are kept free for pushes, and those that waiting readers may take at most. */
  readonly pushConcurrency?: number;
  readonly waitConcurrency?: number;
  /** For how long a response is held at most; 0 holds none. */
  readonly longestWaitSeconds: number;
  /** Whether X-Ray samples requests: one a second of each function, and 5 % of the others. */
  readonly tracing: boolean;
  /** Whether API Gateway has metrics of each route, which CloudWatch bills as custom metrics. */
  readonly detailedMetrics: boolean;
  /** Accounts whose rules may take events from the bus. */
  readonly consumerAccounts: readonly string[];
  /** Origins of pages elsewhere that may call the API. */
  readonly corsOrigins: readonly string[];
  /** Where the stack goes; absent: where the credentials belong. */
  readonly env?: { readonly account: string; readonly region: string };
  /** Days for which logs are kept: one of CloudWatch's choices. */
  readonly logDays: RetentionDays;
  /** Days for which published events are kept for replay. */
  readonly archiveDays: number;
  /** What instance types offer beyond what is built in: the text of the file that the setting names. */
  readonly instanceTypes?: string;
  /** Who is written to when an alarm goes off. */
  readonly alarmEmail?: string;
  /** SHA-256 of the token with which the first admin registers everybody else. */
  readonly adminTokenSha256?: string;
  /** Whether each request gets a line in its function's log. */
  readonly accessLog: boolean;
  readonly fleetMetrics: boolean;
  /** Settings of the page: where people sign in, and where the history is. */
  readonly page: PageLinks;
  /** A name of your own for the API. */
  readonly domain?: DomainSettings;
}

export interface DomainSettings {
  readonly name: string;
  /** Of ACM, in the stack's region. */
  readonly certificateArn: string;
  /** Where the record is made; without it you make it yourself, from the stack's outputs. */
  readonly hostedZone?: { readonly id: string; readonly name: string };
}

/** A setting that cannot be. */
export class SettingError extends Error {
  override readonly name = 'SettingError';
}

/** How one setting is read. */
interface SettingKind<T> {
  /** For the table in docs/deploy.md. */
  readonly default: string;
  readonly meaning: string;
  /** @throws SettingError */
  readonly read: (name: string, value: unknown) => T;
}

/** CloudWatch keeps logs for these numbers of days. */
const LOG_DAYS: readonly RetentionDays[] = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
];

/**
 * Filters of the stream name every partition in at most 4,096 characters, and each poll is one
 * query a shard.
 */
const MAX_SHARDS = 256;

const SECONDS_OF = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/** An account's API Gateway lets 10,000 requests a second through unless AWS was asked for more. */
const MAX_RATE = 10_000;

/** Far beyond the account's quota, which decides. */
const MAX_CONCURRENCY = 100_000;

/** Every setting there is, by its name in the context. */
export const SETTINGS = {
  stage: text(
    'dev',
    'name of the deployment, part of every name in it',
    /^[a-z][a-z0-9-]{0,18}[a-z0-9]$/,
    '2 to 20 lower-case letters, digits and dashes, a letter first and no dash last',
  ),
  throwAway: flag('`true` has the tables deleted with the stack, for a stage that nobody relies on'),
  paused: flag('`true` lets no request and no sweep through, for as long as data is restored'),
  shards: integer(DEFAULT_SHARDS, 'partitions of the heads; set once, at the first deploy', 1, MAX_SHARDS),
  omitAfter: duration(
    DEFAULT_MEMBERSHIP.omitAfterMs,
    'silence after which a cluster is taken out of the map',
    (omitAfterMs) => ({ ...DEFAULT_MEMBERSHIP, omitAfterMs }),
  ),
  retireAfter: duration(
    DEFAULT_MEMBERSHIP.retireAfterMs,
    'time out of the map after which only the high-water mark of a cluster is kept',
    (retireAfterMs) => ({ ...DEFAULT_MEMBERSHIP, retireAfterMs }),
  ),
  maxClockAheadSeconds: integer(
    MAX_FUTURE_SKEW_MS / 1_000,
    "seconds by which an agent's clock may be ahead of the service's before its pushes are refused",
    0,
    86_400,
  ),
  announceRefreshes: flag(
    '`true` also publishes an event for each push that changed nothing but counter and time',
  ),
  pushesPerSecond: integer(
    1_200,
    'pushes let through in a second, of all agents together; see _Throttling_',
    1,
    MAX_RATE,
  ),
  readsPerSecond: integer(
    500,
    'other requests let through in a second, on each route; see _Throttling_',
    1,
    MAX_RATE,
  ),
  accessLog: flag(
    '`true` writes a line for each request: method, route, status, ms, bytes, principal, request id',
  ),
  pushConcurrency: optional(
    'executions that are reserved for pushes, and the most that they take; see _Concurrency_',
    integer(0, '', 1, MAX_CONCURRENCY),
  ),
  waitConcurrency: optional(
    'executions that readers who wait may take at most; see _Concurrency_',
    integer(0, '', 1, MAX_CONCURRENCY),
  ),
  longestWaitSeconds: integer(
    MAX_WAIT_SECONDS,
    'seconds for which a response is held for who waits; 0 holds none',
    0,
    MAX_WAIT_SECONDS,
  ),
  fleetMetrics: flag('`true` has CloudWatch metrics by model and region: see [monitoring.md](monitoring.md)'),
  tracing: flag(
    '`true` sends a sample of the requests to X-Ray: one a second of each function, and 5 % of the others',
  ),
  detailedMetrics: flag('`true` has API Gateway keep metrics of each route, billed as custom metrics'),
  consumerAccounts: list(
    'accounts that may make rules on the bus, separated by commas',
    /^\d{12}$/,
    'account ids of 12 digits, separated by commas',
  ),
  corsOrigins: list(
    'origins of pages elsewhere that may call the API from a browser, separated by commas',
    /^https:\/\/[a-z0-9.-]+(?::\d{1,5})?$/,
    'https origins like https://tools.example.com, separated by commas',
  ),
  account: optional(
    'the account that the stack is for, with `region`; otherwise that of the credentials',
    text('', '', /^\d{12}$/, 'an account id of 12 digits'),
  ),
  region: optional(
    'its region, with `account`',
    text('', '', /^[a-z]{2}(?:-[a-z]+)+-\d$/, 'a region like eu-central-1'),
  ),
  logDays: oneOf(30, 'days for which logs are kept', LOG_DAYS),
  archiveDays: integer(30, 'days for which published events are kept for replay', 1, 3_650),
  maxOwnerAccelerators: optional(
    'accelerators that the claims of one owner may hold in one cluster; no bound if not set',
    integer(0, '', 1, 1_000_000),
  ),
  instanceTypes: optional(
    'a JSON file with capacity and cores of instance types, for bundles: see [bundles.md](bundles.md)',
    catalogueFile(),
  ),
  adminTokenSha256: optional(
    "SHA-256 of the first admin's token; `rmap token generate` makes both",
    text('', '', /^[0-9a-f]{64}$/, '64 lower-case hexadecimal digits, as rmap token generate prints them'),
  ),
  alarmEmail: optional(
    'who is written to when an alarm goes off',
    text('', '', /^[^\s@]+@[^\s@]+\.[^\s@]+$/, 'an e-mail address'),
  ),
  oidcIssuer: optional(
    'the OpenID provider with which people sign in to the page, its issuer; with `oidcClientId`',
    httpsUrl(),
  ),
  oidcClientId: optional(
    "the page's client id there, a public client with PKCE; see [security.md](security.md)",
    text('', '', /^[\x21-\x7e]{1,512}$/, 'a client id, without spaces'),
  ),
  grafanaUrl: optional('where the page links to for the history', httpsUrl()),
  domainName: optional(
    'a name of your own for the API',
    text(
      '',
      '',
      /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/,
      'a host name like map.example.com',
    ),
  ),
  certificateArn: optional(
    'its certificate in ACM, in the region of the stack',
    text(
      '',
      '',
      /^arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate\/[0-9a-f-]{36}$/,
      "the ARN of a certificate in ACM, in the stack's region",
    ),
  ),
  hostedZoneId: optional(
    "the Route 53 zone in which the name's record is made",
    text('', '', /^Z[A-Z0-9]{1,31}$/, 'the id of a hosted zone in Route 53, which begins with Z'),
  ),
  hostedZoneName: optional(
    "that zone's name",
    text(
      '',
      '',
      /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/,
      'a domain like example.com',
    ),
  ),
} as const satisfies Readonly<Record<string, SettingKind<unknown>>>;

type SettingName = keyof typeof SETTINGS;

/**
 * @param context what CDK has as context, its own keys among it
 * @throws SettingError
 */
export function readSettings(context: Readonly<Record<string, unknown>>): Settings {
  const ownContext = Object.entries(context).filter(([key]) => !/[:@]/.test(key) && key !== 'stages');
  refuseUnknown(ownContext.map(([key]) => key));
  const fromContext = new Map(ownContext);
  const stage = SETTINGS.stage.read('stage', fromContext.get('stage'));
  const ofStage = new Map(Object.entries(settingsOfStage(context.stages, stage)));
  refuseUnknown([...ofStage.keys()], stage);

  const value = <Name extends SettingName>(name: Name): ReturnType<(typeof SETTINGS)[Name]['read']> =>
    SETTINGS[name].read(name, fromContext.get(name) ?? ofStage.get(name)) as ReturnType<
      (typeof SETTINGS)[Name]['read']
    >;

  const instanceTypes = value('instanceTypes');
  const alarmEmail = value('alarmEmail');
  const adminTokenSha256 = value('adminTokenSha256');
  const maxOwnerAccelerators = value('maxOwnerAccelerators');
  const pushConcurrency = value('pushConcurrency');
  const waitConcurrency = value('waitConcurrency');
  const page = pageOf(value('oidcIssuer'), value('oidcClientId'), value('grafanaUrl'));
  const domain = domainOf(
    value('domainName'),
    value('certificateArn'),
    value('hostedZoneId'),
    value('hostedZoneName'),
  );
  return {
    stage,
    throwAway: value('throwAway'),
    paused: value('paused'),
    shards: value('shards'),
    omitAfter: value('omitAfter'),
    retireAfter: value('retireAfter'),
    maxClockAheadSeconds: value('maxClockAheadSeconds'),
    announceRefreshes: value('announceRefreshes'),
    pushesPerSecond: value('pushesPerSecond'),
    readsPerSecond: value('readsPerSecond'),
    accessLog: value('accessLog'),
    longestWaitSeconds: value('longestWaitSeconds'),
    fleetMetrics: value('fleetMetrics'),
    tracing: value('tracing'),
    detailedMetrics: value('detailedMetrics'),
    consumerAccounts: value('consumerAccounts'),
    corsOrigins: value('corsOrigins'),
    ...envOf(value('account'), value('region')),
    logDays: value('logDays'),
    archiveDays: value('archiveDays'),
    page,
    ...(maxOwnerAccelerators === undefined ? {} : { maxOwnerAccelerators }),
    ...(pushConcurrency === undefined ? {} : { pushConcurrency }),
    ...(waitConcurrency === undefined ? {} : { waitConcurrency }),
    ...(instanceTypes === undefined ? {} : { instanceTypes }),
    ...(alarmEmail === undefined ? {} : { alarmEmail }),
    ...(adminTokenSha256 === undefined ? {} : { adminTokenSha256 }),
    ...(domain === undefined ? {} : { domain }),
  };
}

function settingsOfStage(stages: unknown, stage: string): Readonly<Record<string, unknown>> {
  if (stages === undefined) return {};
  if (!isRecord(stages)) {
    throw new SettingError(
      `The context's "stages" is ${shown(stages)}; it must be an object with the settings of each stage.`,
    );
  }
  // Own properties only: a stage may be named like a method of every object.
  const ofStage = Object.hasOwn(stages, stage) ? stages[stage] : {};
  if (isRecord(ofStage)) return ofStage;
  throw new SettingError(
    `The settings of stage ${stage} are ${shown(ofStage)}; they must be an object of settings.`,
  );
}

function refuseUnknown(names: readonly string[], stage?: string): void {
  const known = Object.keys(SETTINGS).filter((name) => stage === undefined || name !== 'stage');
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const where = stage === undefined ? '' : ` for the stage ${stage}`;
  const nearest = nearestOf(unknown, known);
  throw new SettingError(
    `There is no setting ${shown(unknown)}${where}; ` +
      `${nearest === undefined ? '' : `did you mean ${nearest}? `}docs/deploy.md lists them all.`,
  );
}

function envOf(
  account: string | undefined,
  region: string | undefined,
): { readonly env?: { readonly account: string; readonly region: string } } {
  if ((account === undefined) !== (region === undefined)) {
    throw new SettingError(
      'account and region go together; set both, or none to deploy where the credentials belong.',
    );
  }
  return account === undefined || region === undefined ? {} : { env: { account, region } };
}

function pageOf(
  issuer: string | undefined,
  clientId: string | undefined,
  grafana: string | undefined,
): PageLinks {
  if ((issuer === undefined) !== (clientId === undefined)) {
    throw new SettingError('oidcIssuer and oidcClientId go together; set both, or none and paste tokens.');
  }
  return {
    ...(issuer === undefined || clientId === undefined ? {} : { oidc: { issuer, clientId } }),
    ...(grafana === undefined ? {} : { grafana }),
  };
}

function domainOf(
  name: string | undefined,
  certificateArn: string | undefined,
  zoneId: string | undefined,
  zoneName: string | undefined,
): DomainSettings | undefined {
  if (name === undefined) {
    const stray = Object.entries({ certificateArn, hostedZoneId: zoneId, hostedZoneName: zoneName }).find(
      ([, value]) => value !== undefined,
    );
    if (stray === undefined) return undefined;
    throw new SettingError(
      `${stray[0]} is ${shown(stray[1])}, but there is no domainName that it could be for; set domainName too.`,
    );
  }
  if (certificateArn === undefined) {
    throw new SettingError(
      `domainName is ${shown(name)}, and has no certificate; set certificateArn to one in ACM for that name.`,
    );
  }
  if (zoneId === undefined && zoneName === undefined) return { name, certificateArn };
  if (zoneId === undefined || zoneName === undefined) {
    throw new SettingError(
      'hostedZoneId and hostedZoneName go together; set both, or none and make the record yourself.',
    );
  }
  if (name !== zoneName && !name.endsWith(`.${zoneName}`)) {
    throw new SettingError(
      `domainName is ${shown(name)}, which is not within the hosted zone ${shown(zoneName)}; give the zone of that name.`,
    );
  }
  return { name, certificateArn, hostedZone: { id: zoneId, name: zoneName } };
}

function text(fallback: string, meaning: string, pattern: RegExp, remedy: string): SettingKind<string> {
  return {
    default: fallback,
    meaning,
    read: (name, value) => {
      if (value === undefined) return fallback;
      if (typeof value === 'string' && pattern.test(value)) return value;
      throw wrong(name, value, remedy);
    },
  };
}

/** @param within the membership in which it would stand: whose limits are the sweeper's */
function duration(
  fallbackMs: number,
  meaning: string,
  within: (ms: number) => Membership,
): SettingKind<number> {
  return {
    default: shownDuration(fallbackMs / 1_000),
    meaning,
    read: (name, value) => {
      if (value === undefined) return fallbackMs / 1_000;
      const [, digits, unit] = (typeof value === 'string' && /^(\d{1,7})([smhd])$/.exec(value)) || [];
      if (digits === undefined) throw wrong(name, value, 'a duration like 90s, 15m, 24h or 2d');
      const seconds = Number(digits) * SECONDS_OF[unit as keyof typeof SECONDS_OF];
      try {
        checkMembership(within(seconds * 1_000));
      } catch (error) {
        if (!(error instanceof MembershipError)) throw error;
        throw new SettingError(`The setting ${name} is ${shown(value)}. ${error.message}`);
      }
      return seconds;
    },
  };
}

function shownDuration(seconds: number): string {
  const unit = (['d', 'h', 'm'] as const).find((each) => seconds % SECONDS_OF[each] === 0) ?? 's';
  return `${seconds / SECONDS_OF[unit]}${unit}`;
}

function flag(meaning: string): SettingKind<boolean> {
  return {
    default: 'false',
    meaning,
    read: (name, value) => {
      if (value === undefined || value === false || value === 'false') return false;
      if (value === true || value === 'true') return true;
      throw wrong(name, value, 'true or false');
    },
  };
}

function integer(fallback: number, meaning: string, from: number, to: number): SettingKind<number> {
  return {
    default: String(fallback),
    meaning,
    read: (name, value) => {
      if (value === undefined) return fallback;
      const number = numberOf(value);
      if (number !== undefined && number >= from && number <= to) return number;
      throw wrong(name, value, `an integer from ${from} to ${to}`);
    },
  };
}

function oneOf<T extends number>(fallback: T, meaning: string, choices: readonly T[]): SettingKind<T> {
  return {
    default: String(fallback),
    meaning,
    read: (name, value) => {
      if (value === undefined) return fallback;
      const number = numberOf(value);
      const choice = choices.find((each) => each === number);
      if (choice !== undefined) return choice;
      throw wrong(name, value, `one of ${choices.join(', ')}`);
    },
  };
}

function optional<T>(meaning: string, kind: SettingKind<T>): SettingKind<T | undefined> {
  return {
    default: '',
    meaning,
    read: (name, value) => (value === undefined ? undefined : kind.read(name, value)),
  };
}

function list(meaning: string, pattern: RegExp, remedy: string): SettingKind<readonly string[]> {
  return {
    default: '',
    meaning,
    read: (name, value) => {
      if (value === undefined) return [];
      const items = Array.isArray(value) ? value : String(value).split(',');
      if (items.length > 0 && items.every((item) => typeof item === 'string' && pattern.test(item))) {
        return [...new Set(items as string[])];
      }
      throw wrong(name, value, remedy);
    },
  };
}

function httpsUrl(): SettingKind<string> {
  return text('', '', /^https:\/\/[^\s"'<>;,@]+$/, 'an https URL without user name');
}

/** The text of a file that can be deployed as the instance-type catalogue. */
function catalogueFile(): SettingKind<string> {
  return {
    default: '',
    meaning: '',
    read: (name, value) => {
      if (typeof value !== 'string') throw wrong(name, value, 'the path of a JSON file');
      let json: string;
      try {
        json = readFileSync(value, 'utf8');
      } catch (error) {
        throw new SettingError(
          `The setting ${name} is ${shown(value)}, which cannot be read: ${(error as Error).message}.`,
        );
      }
      try {
        readCatalogue(json);
      } catch (error) {
        if (!(error instanceof CatalogueError)) throw error;
        throw new SettingError(`The setting ${name} is ${shown(value)}. ${error.message}`);
      }
      return json;
    },
  };
}

/** The command line gives text, cdk.json numbers. */
function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isInteger(value) ? value : undefined;
  return typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}

function wrong(name: string, value: unknown, remedy: string): SettingError {
  return new SettingError(`The setting ${name} is ${shown(value)}; it must be ${remedy}.`);
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 200);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
