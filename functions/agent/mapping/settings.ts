/** What an administrator can say that no object of a cluster does. */
import { z } from 'zod';
import { WHOLE_DEVICE_RESOURCES } from './accelerators.ts';
import { DEFAULT_TOLERATIONS } from './availability.ts';

const name = z.string().min(1).max(253);
const count = z.int().min(0).max(1_000_000);

const toleration = z.strictObject({
  key: z
    .string()
    .max(317)
    .optional()
    .describe('empty or absent, with operator Exists, tolerates every taint'),
  operator: z.enum(['Exists', 'Equal']).optional(),
  value: z.string().max(63).optional(),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional(),
});

const price = z.strictObject({
  currencyCode: z.string().regex(/^[A-Z]{3}$/, 'three capital letters, such as USD'),
  decimalAmount: z
    .string()
    .regex(/^\d+(\.\d+)?$/, 'a decimal number in quotes, such as "12.50"')
    .max(40),
});

const pool = z.strictObject({
  purchaseModel: z.enum(['ON_DEMAND', 'SPOT', 'FLEX_START', 'FIXED_ASSET', 'RESERVED']).optional(),
  pricePerNodeHour: price.optional(),
  eligible: z.boolean().optional().describe('whether new work may be placed there; else defaultEligible'),
  shared: z
    .boolean()
    .optional()
    .describe('whether devices are shared in a way that no label shows, or are not although one does'),
  acceleratorsPerNode: count.optional(),
  acceleratorModel: z.string().min(1).max(253).optional(),
  intraNodeInterconnect: z.string().min(1).max(253).optional(),
  tolerations: z
    .array(toleration)
    .max(100)
    .optional()
    .describe('carried by the work of this pool, beside those of all pools'),
  minNodes: count.optional(),
  maxNodes: count.optional(),
  maxAccelerators: count.optional(),
  autoscaling: z.boolean().optional(),
  maxRunDurationSeconds: z.int().min(1).max(315_576_000_000).optional(),
  keepEmptyNodeTypes: z
    .boolean()
    .optional()
    .describe('keep node types that were seen once when no node is left'),
});

const instanceType = z.strictObject({
  accelerators: count,
  model: z.string().max(253).optional(),
});

/** Ways to recognise a job by the objects of Kubernetes and its operators. */
export const JOB_SOURCES = [
  'leaderworkerset',
  'jobset',
  'pytorchjob',
  'raycluster',
  'grove',
  'kserve',
  'job',
  'deployment',
  'statefulset',
] as const;
export type JobSource = (typeof JOB_SOURCES)[number];

const settings = z.strictObject({
  cluster: z
    .strictObject({
      id: name.optional(),
      displayName: z.string().max(253).optional(),
      provider: z.string().max(253).optional(),
      region: z.string().max(253).optional(),
      site: z.string().max(253).optional(),
    })
    .default({}),
  acceleratorResources: z
    .array(name)
    .min(1)
    .max(100)
    .default([...WHOLE_DEVICE_RESOURCES]),
  tolerations: z
    .array(toleration)
    .max(200)
    .default(DEFAULT_TOLERATIONS.map((each) => ({ ...each }) as z.infer<typeof toleration>))
    .describe('carried by all work that is placed by the map; replaces the built-in list'),
  poolLabel: name.optional().describe('the label that names the pool of a node'),
  fabricLabel: z.string().max(317).optional().describe('the label whose values are fabrics; "" for none'),
  nodesWithoutAccelerators: z.boolean().default(true).describe('whether they are in the snapshot'),
  defaultEligible: z.boolean().default(true),
  labelPrefix: name
    .default('tandemn.com')
    .describe('of the labels and annotations job-id, rank-id, chain-id, pod-index, target'),
  recogniseJobs: z
    .array(z.enum(JOB_SOURCES))
    .max(JOB_SOURCES.length)
    .default([...JOB_SOURCES]),
  instanceTypes: z
    .record(name, instanceType)
    .default({})
    .describe('adds to and goes before the built-in table'),
  pools: z.record(name, pool).default({}).describe('by pool id'),
  reservations: z
    .array(
      z.strictObject({
        job: name,
        rank: name.optional().describe('every rank of the job where absent'),
        chains: z.int().min(1).max(1_000_000),
      }),
    )
    .max(10_000)
    .default([])
    .describe('room kept for chains that do not exist yet, of ranks that are in the map'),
});

export type AgentSettings = z.infer<typeof settings>;
export type PoolSettings = z.infer<typeof pool>;

/** What holds where nothing is set. */
export const DEFAULT_SETTINGS: AgentSettings = settings.parse({});

/** Settings, or every fault of them, each with its path and what would be right. */
export type SettingsReading = { readonly settings: AgentSettings } | { readonly faults: readonly string[] };

/** Reads what a settings file holds, already parsed from YAML or JSON. */
export function readSettings(value: unknown): SettingsReading {
  const result = settings.safeParse(value ?? {});
  if (!result.success) {
    return { faults: result.error.issues.map(({ path, message }) => `${pathText(path)}: ${message}`) };
  }
  const faults = Object.entries(result.data.pools).flatMap(([id, { minNodes, maxNodes }]) =>
    minNodes !== undefined && maxNodes !== undefined && minNodes > maxNodes
      ? [`pools.${id}: minNodes ${minNodes} is above maxNodes ${maxNodes}`]
      : [],
  );
  return faults.length > 0 ? { faults } : { settings: result.data };
}

function pathText(path: readonly PropertyKey[]): string {
  return path.length === 0 ? 'the file' : path.map(String).join('.');
}

/** The schema of the settings file, as JSON Schema. */
export function settingsSchema(): unknown {
  return z.toJSONSchema(settings, { io: 'input' });
}

/** Of a pool, or of none. Own members only: a pool may be called `constructor`. */
export function poolSettings({ pools }: AgentSettings, poolId: string): PoolSettings {
  return (Object.hasOwn(pools, poolId) ? pools[poolId] : undefined) ?? {};
}
