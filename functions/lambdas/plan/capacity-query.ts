/** The query of GET /v1/capacity: what to leave out, and what to add up by. */
import type { Context } from 'hono';
import type { TargetFilter } from '../../core/capacity/view/filter.ts';
import { ResourceMapError } from '../../core/errors.ts';
import { maxAgeOf } from '../../core/max-age.ts';
import { didYouMean, nearestOf } from '../../core/nearest.ts';
import { isCutIdentity } from '../../core/snapshot/identity.ts';
import { GroupKey, GroupKeySchema } from '../../gen/resourcemap/v1/capacity_pb.ts';
import { type PurchaseModel, PurchaseModelSchema } from '../../gen/resourcemap/v1/resource_map_pb.ts';
import { refuseUnknownParameters } from '../../http/query.ts';
import type { Head } from '../../storage/head.ts';

const TEXT_PARAMETERS = [
  'cluster',
  'provider',
  'region',
  'site',
  'accelerator_model',
  'pool',
  'node_type',
  'instance_type',
  'zone',
  'fabric',
] as const;

const PARAMETERS = [
  ...TEXT_PARAMETERS,
  'purchase_model',
  'rdma_ready',
  'eligible',
  'group_by',
  'claims',
  'max_age',
];

/** `group_by` takes the filters' own names. */
export const GROUP_KEYS: ReadonlyMap<string, GroupKey> = new Map(
  GroupKeySchema.values
    .filter(({ number }) => number !== GroupKey.UNSPECIFIED)
    .map(({ localName, number }) => [localName.toLowerCase(), number]),
);

/** Lower-case names and those of the wire. */
export const PURCHASE_MODELS: ReadonlyMap<string, PurchaseModel> = new Map(
  PurchaseModelSchema.values.flatMap(({ name, localName, number }) => [
    [localName.toLowerCase(), number],
    [name, number],
  ]),
);

export interface CapacityQuery {
  readonly filter: TargetFilter;
  /** Empty: each target by itself. */
  readonly groupBy: readonly GroupKey[];
  readonly ignoreClaims: boolean;
  /** Nanoseconds; absent: clusters of any age count. */
  readonly maxAge: bigint | undefined;
}

/** @throws ResourceMapError `invalid_query` */
export function capacityQuery(c: Context): CapacityQuery {
  refuseUnknownParameters(c, PARAMETERS);
  const values = (name: (typeof TEXT_PARAMETERS)[number]): readonly string[] => c.req.queries(name) ?? [];
  return {
    filter: {
      cluster: values('cluster'),
      provider: values('provider'),
      region: values('region'),
      site: values('site'),
      acceleratorModel: values('accelerator_model'),
      pool: values('pool'),
      nodeType: values('node_type'),
      instanceType: values('instance_type'),
      zone: values('zone'),
      fabric: values('fabric'),
      purchaseModel: oneOf(c, 'purchase_model', PURCHASE_MODELS),
      rdmaReady: yesOrNo(c, 'rdma_ready'),
      eligible: yesOrNo(c, 'eligible'),
    },
    groupBy: [...new Set(oneOf(c, 'group_by', GROUP_KEYS))],
    ignoreClaims: ignoresClaims(c),
    maxAge: maxAge(c),
  };
}

const CLUSTER_PARAMETERS = ['cluster', 'provider', 'region', 'site'] as const;

/** Which clusters a query is about. */
export type ClusterQuery = Pick<TargetFilter, (typeof CLUSTER_PARAMETERS)[number]>;

/** @throws ResourceMapError `invalid_query` for any other parameter */
export function clusterQuery(c: Context): ClusterQuery {
  refuseUnknownParameters(c, CLUSTER_PARAMETERS);
  const values = (name: (typeof CLUSTER_PARAMETERS)[number]): readonly string[] => c.req.queries(name) ?? [];
  return {
    cluster: values('cluster'),
    provider: values('provider'),
    region: values('region'),
    site: values('site'),
  };
}

/** Whether the response is to be what it is without claims. @throws ResourceMapError `invalid_query` */
export function ignoresClaims(c: Context): boolean {
  const value = c.req.query('claims');
  if (value === undefined || value === 'subtract') return false;
  if (value === 'ignore') return true;
  throw new ResourceMapError(
    'invalid_query',
    `The query parameter claims is ${JSON.stringify(value.slice(0, 64))}; it can be "ignore" or "subtract".`,
    { field: 'claims', value },
  );
}

/** @throws ResourceMapError `invalid_query` */
function maxAge(c: Context): bigint | undefined {
  const value = c.req.query('max_age');
  if (value === undefined) return undefined;
  const refuse = (fault: string): never => {
    throw new ResourceMapError(
      'invalid_query',
      `The query parameter max_age is ${JSON.stringify(value.slice(0, 64))}; it ${fault}.`,
      { field: 'max_age', value },
    );
  };
  const seconds = /^(\d{1,9})s$/.exec(value)?.[1];
  if (seconds === undefined) return refuse('must be a duration in whole seconds, such as 90s');
  return maxAgeOf({ seconds: BigInt(seconds), nanos: 0 }, refuse);
}

/** A filter on heads that leaves in whatever `filter` may. */
export function headMatcher({ cluster, provider, region, site }: ClusterQuery): (head: Head) => boolean {
  const accepts = (values: readonly string[], value: string): boolean =>
    // A value that the head had to cut is compared whole, in the view.
    values.length === 0 || values.includes(value) || isCutIdentity(value);
  return (head) =>
    (cluster.length === 0 || cluster.includes(head.clusterId)) &&
    accepts(provider, head.identity.provider) &&
    accepts(region, head.identity.region) &&
    accepts(site, head.identity.site);
}

function yesOrNo(c: Context, name: string): boolean | undefined {
  const [value] = oneOf(
    c,
    name,
    new Map([
      ['true', true],
      ['false', false],
    ]),
  ).slice(-1);
  return value;
}

/** Values of a parameter that may be given several times, or several in one with commas between. */
function oneOf<T>(c: Context, name: string, known: ReadonlyMap<string, T>): readonly T[] {
  return (c.req.queries(name) ?? [])
    .flatMap((value) => value.split(','))
    .map((value) => {
      const found = known.get(value);
      if (found !== undefined) return found;
      const shown = JSON.stringify(value.slice(0, 64));
      const names = [...known.keys()];
      const nearest = nearestOf(value, names);
      throw new ResourceMapError(
        'invalid_query',
        `The query parameter ${name} is ${shown}${didYouMean(value, names, `it can be ${names.join(', ')}`)}`,
        { field: name, value, ...(nearest === undefined ? {} : { nearest: [nearest] }) },
      );
    });
}
