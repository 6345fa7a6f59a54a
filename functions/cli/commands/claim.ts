import { create, type MessageInitShape, toJsonString } from '@bufbuild/protobuf';
import { Command, InvalidArgumentError, Option } from 'commander';
import { type ClaimClient, createClaimClient } from '../../client/claim-client.ts';
import { newClaimId } from '../../client/claim-id.ts';
import {
  type Claim,
  ClaimListSchema,
  ClaimRequestSchema,
  ClaimSchema,
  ClaimState,
} from '../../gen/resourcemap/v1/claims_pb.ts';
import { claimLines, claimTable, NO_CLAIM } from '../claim-table.ts';
import { EXIT } from '../exit-codes.ts';
import { UsageError } from '../failure.ts';
import { repeatable } from '../filter-options.ts';
import { type GlobalOptions, serviceOf, withGlobalOptions } from '../global-options.ts';
import { parseClusterId, parseNonEmpty } from '../id-arguments.ts';
import { messageOf, readInput } from '../input-file.ts';
import { type PodOptions, priceOf, withPodOptions } from '../pod-options.ts';
import { print } from '../print.ts';
import { oneOf, purchaseModelOf, type TargetOptions, withTargetOptions } from '../target-options.ts';

interface CreateOptions extends GlobalOptions, TargetOptions, PodOptions {
  readonly job?: string;
  readonly rank?: string;
  readonly chainId: readonly string[];
  readonly ttl?: number;
  readonly replaces?: string;
  readonly note?: string;
  readonly id?: string;
  readonly dryRun: boolean;
}

interface OneOptions extends GlobalOptions {
  readonly cluster: string;
}

interface RenewOptions extends OneOptions {
  readonly ttl?: number;
}

interface ReleaseOptions extends OneOptions {
  readonly reason?: string;
  readonly neverStarted: boolean;
}

interface ListOptions extends GlobalOptions {
  readonly cluster: readonly string[];
  readonly owner: readonly string[];
  readonly job: readonly string[];
  readonly state: readonly string[];
}

/** Seconds for which a watch lets the service hold its response. */
const WATCH_MS = 20_000;

const STATES: ReadonlyMap<string, ClaimState> = new Map(
  [
    ClaimState.HELD,
    ClaimState.CONFIRMED,
    ClaimState.FULFILLED,
    ClaimState.RELEASED,
    ClaimState.EXPIRED,
    ClaimState.BROKEN,
  ].map((state) => [ClaimState[state].toLowerCase(), state]),
);

export function claimCommand(): Command {
  const make = withGlobalOptions(
    withTargetOptions(
      withPodOptions(
        new Command('create')
          .description('hold capacity of one cluster for chains of a job')
          .argument('[file]', 'a whole request in ProtoJSON (ClaimRequest); - is standard input'),
      )
        .option('--job <id>', 'the job whose chains these are', parseNonEmpty('job id'))
        .option('--rank <id>', 'their rank; any rank of the job if not given')
        .addOption(repeatable('--chain-id <id>', 'claim this chain, instead of a number of them', 'none'))
        .addOption(ttlOption('how long it is held, such as 60s or 5m'))
        .option('--replaces <id>', 'a claim of the same owner that is given up if this one is accepted')
        .option('--note <text>', 'shown beside it')
        .option('--id <uuid>', 'its id, a UUID of version 7, to repeat a request; a new one if not given')
        .option('--dry-run', 'judge it, and hold nothing', false),
    ),
  ).action(async (file: string | undefined, options: CreateOptions) => {
    const [clusterId, another] = options.cluster;
    if (clusterId === undefined || another !== undefined) {
      throw new UsageError('A claim is in one cluster; name it with one --cluster.');
    }
    const id = options.id ?? newClaimId();
    const request = file === undefined ? requestOf(options) : await requestIn(file, options);
    show(await clientOf(options).put(clusterId, id, request, { dryRun: options.dryRun }), options);
  });
  const get = one('get', 'show a claim').action(async (id: string, options: OneOptions) =>
    show(await clientOf(options).get(options.cluster, id), options),
  );
  const confirm = one('confirm', 'confirm a claim: from then on work may be started on it')
    .addOption(ttlOption('until when, from now on, such as 15m'))
    .action(async (id: string, options: RenewOptions) =>
      show(await clientOf(options).confirm(options.cluster, id, ttlOf(options)), options),
    );
  const renew = one('renew', 'let a claim live longer')
    .addOption(ttlOption('for how long from now on, such as 60s'))
    .action(async (id: string, options: RenewOptions) =>
      show(await clientOf(options).renew(options.cluster, id, ttlOf(options)), options),
    );
  const release = one('release', 'give a claim up')
    .option('--reason <text>', 'why, for the claim’s record')
    .option('--never-started', 'nobody was told of the confirmed claim, so that it ends at once', false)
    .action(async (id: string, { reason, neverStarted, ...options }: ReleaseOptions) =>
      show(
        await clientOf(options).release(options.cluster, id, {
          neverStarted,
          ...(reason === undefined ? {} : { reason }),
        }),
        options,
      ),
    );
  const list = many('list', 'list claims').action(async (options: ListOptions) => {
    const response = await clientOf(options).list(filterOf(options));
    showAll(response.kind === 'claims' ? response.claims : [], options);
  });
  const watch = many('watch', 'list claims, and again whenever one changes').action(
    async (options: ListOptions) => {
      const client = clientOf(options);
      let etag: string | undefined;
      for (;;) {
        const wait = etag === undefined ? {} : { ifNoneMatch: etag, waitMs: WATCH_MS };
        const response = await client.list({ ...filterOf(options), ...wait });
        if (response.kind === 'claims') showAll(response.claims, options);
        etag = response.etag;
      }
    },
  );
  return new Command('claim')
    .description('hold capacity from a decision until a snapshot shows the work')
    .addCommand(make)
    .addCommand(list)
    .addCommand(get)
    .addCommand(confirm)
    .addCommand(renew)
    .addCommand(release)
    .addCommand(watch);
}

/** A command about one claim. */
function one(name: string, description: string): Command {
  return withGlobalOptions(
    new Command(name)
      .description(description)
      .argument('<id>', 'its id', parseNonEmpty('claim id'))
      .addOption(
        new Option('--cluster <id>', 'the cluster that it is in')
          .argParser(parseClusterId)
          .makeOptionMandatory(),
      ),
  );
}

/** A command about those that match. */
function many(name: string, description: string): Command {
  return withGlobalOptions(
    new Command(name)
      .description(description)
      .addOption(repeatable('--cluster <id>', 'only claims in this cluster'))
      .addOption(repeatable('--owner <name>', 'only claims of this owner; self is the caller'))
      .addOption(repeatable('--job <id>', 'only claims for this job'))
      .addOption(repeatable('--state <name>', `only claims in this state: ${[...STATES.keys()].join(', ')}`)),
  );
}

function filterOf({ cluster, owner, job, state }: ListOptions) {
  const states = state.map((name) => oneOf('--state', STATES, name));
  return { clusters: cluster, owners: owner, jobs: job, states };
}

function clientOf(options: GlobalOptions): ClaimClient {
  return createClaimClient(serviceOf(options));
}

function requestOf(options: CreateOptions): MessageInitShape<typeof ClaimRequestSchema> {
  const { pods, chains, chainId, job, rank, ttl, replaces, note, maxPrice } = options;
  if (job === undefined) throw new UsageError('No job is named; give --job, or a file with a request.');
  if (pods === undefined) {
    throw new UsageError('No pods are claimed; give --pods, such as --pods 8,8, or a file with a request.');
  }
  if (chains !== undefined && chainId.length > 0) {
    throw new UsageError(
      'Give --chains or --chain-id, not both: as many chains are claimed as there are ids.',
    );
  }
  // --eligible says what holds for every claim: it is only where new work may be placed.
  for (const name of ['provider', 'region', 'site'] as const) {
    if (options[name].length > 0) {
      throw new UsageError(`A claim is in the cluster that --cluster names; leave --${name} out.`);
    }
  }
  const pod = {
    poolId: only('--pool', options.pool),
    nodeTypeId: only('--node-type', options.nodeType),
    acceleratorModels: [...options.acceleratorModel],
    instanceTypes: [...options.instanceType],
    purchaseModels: options.purchaseModel.map(purchaseModelOf),
    zones: [...options.zone],
    fabrics: [...options.fabric],
    rdmaReady: options.rdmaReady ?? false,
    ...(maxPrice === undefined ? {} : { maxPricePerNodeHour: priceOf(maxPrice) }),
  };
  return {
    jobId: job,
    ranks: [
      {
        rankId: rank ?? '',
        chainIds: [...chainId],
        ...(chains === undefined ? {} : { chains }),
        podRequirements: pods.map((acceleratorCount) => ({ ...pod, acceleratorCount })),
      },
    ],
    sameFabric: options.sameFabric,
    sameZone: options.sameZone,
    replaces: replaces ?? '',
    note: note ?? '',
    ...(ttl === undefined ? {} : { ttl: { seconds: BigInt(ttl) } }),
  };
}

async function requestIn(file: string, options: CreateOptions) {
  if (options.pods !== undefined || options.job !== undefined) {
    throw new UsageError('Give a file or --job and --pods, not both: the file says what is claimed.');
  }
  return messageOf(ClaimRequestSchema, file, await readInput(file));
}

function only(option: string, values: readonly string[]): string {
  const [value = '', another] = values;
  if (another === undefined) return value;
  throw new UsageError(`A claim's pods name one ${option} at most; give it once.`);
}

function ttlOption(description: string): Option {
  return new Option('--ttl <time>', description).argParser((value: string) => {
    const [, number, unit] = /^(\d{1,6})(s|m|h)$/.exec(value) ?? [];
    if (number === undefined) {
      throw new InvalidArgumentError('It is a number of seconds, minutes or hours, such as 60s, 15m or 2h.');
    }
    return Number(number) * (unit === 'h' ? 3_600 : unit === 'm' ? 60 : 1);
  });
}

function ttlOf({ ttl }: RenewOptions): { readonly ttlMs?: number } {
  return ttl === undefined ? {} : { ttlMs: ttl * 1_000 };
}

/** A script asks whether the claim counts: one that has ended for another reason than its work is refused. */
function show(claim: Claim, { json }: GlobalOptions): void {
  const { state } = claim;
  if (state === ClaimState.EXPIRED || state === ClaimState.BROKEN) process.exitCode = EXIT.refused;
  if (json) print(toJsonString(ClaimSchema, claim, { alwaysEmitImplicit: true }));
  else for (const line of claimLines(claim)) print(line);
}

function showAll(claims: readonly Claim[], { json }: GlobalOptions): void {
  if (json) {
    const list = create(ClaimListSchema, { claims: [...claims] });
    print(toJsonString(ClaimListSchema, list, { alwaysEmitImplicit: true }));
  } else print(claims.length === 0 ? NO_CLAIM : claimTable(claims));
}
