/**
 * Whether a bundle can ever be placed, from the bundle and the pools' descriptors alone.
 * Every finding is reported, in a fixed order: pool, resilience policy, duplicate names,
 * and then job by job its co-location references, separation references, contradictions,
 * capacity, cores and capabilities.
 *
 * Nothing is summed over jobs or profiles, utilisation caps and reserved amounts play no
 * part, and the backup pool's capacity is not looked at. What follows from several needs
 * taken together is advice: see `advice.ts`.
 */
import { quote } from '../../quote.ts';
import { firstByName, hasAttributes } from '../model/capabilities.ts';
import type { AdviceCode, ValidationCode } from '../model/codes.ts';
import { describeAttributes, describeRequirement, listNames } from '../model/describe.ts';
import type {
  Bundle,
  BundleJobSpec,
  Capability,
  CapabilityRequirement,
  PoolDescriptor,
  ValidationFinding,
} from '../model/model.ts';
import { adviseBundle } from './advice.ts';

/** What validation found. A bundle with errors is not to be submitted; one with warnings may be. */
export interface BundleValidation {
  readonly errors: readonly ValidationFinding<ValidationCode>[];
  /** What a node that joins a `cluster` pool later could still put right. */
  readonly warnings: readonly ValidationFinding<ValidationCode>[];
  /** Findings of the extended checks. They never stand in `errors` or `warnings`. */
  readonly advice: readonly ValidationFinding<AdviceCode>[];
}

/**
 * Validates a bundle against the configured pools. Of two descriptors with one name the
 * first decides. Never throws.
 *
 * @example
 * ```ts
 * import { validateBundle } from '@resource-map/client/bundle';
 *
 * const { errors } = validateBundle(bundle, [
 *   { poolName: 'edge', kind: 'elastic', nodeProfiles: [{ totalCapacity: 8 }], clouds: ['aws'] },
 * ]);
 * for (const { code, message } of errors) console.error(code, message);
 * ```
 */
export function validateBundle(bundle: Bundle, pools: readonly PoolDescriptor[]): BundleValidation {
  const byName = descriptorsByName(pools);
  const pool = byName.get(bundle.pool);
  const unsatisfiable = pool === undefined ? [] : capacityFindings(bundle, pool);
  const names = jobNames(bundle);

  const errors = [
    ...poolFindings(bundle, byName),
    ...resilienceFindings(bundle, byName),
    ...duplicateFindings(bundle),
    ...bundle.jobs.flatMap((job, i) => [
      ...referenceFindings(job, names),
      ...(pool?.kind === 'elastic' ? (unsatisfiable[i] ?? []) : []),
    ]),
  ];
  const warnings = pool?.kind === 'cluster' ? unsatisfiable.flat() : [];
  return { errors, warnings, advice: adviseBundle(bundle, byName) };
}

/**
 * The findings that need the pools' names alone: no plan can be made of a bundle that has
 * one of them. Capacity is left to the plan itself.
 */
export function structuralFindings(
  bundle: Bundle,
  configured: ReadonlyMap<string, unknown>,
): readonly ValidationFinding<ValidationCode>[] {
  const names = jobNames(bundle);
  return [
    ...poolFindings(bundle, configured),
    ...unknownResiliencePool(bundle, configured),
    ...duplicateFindings(bundle),
    ...bundle.jobs.flatMap((job) => referenceFindings(job, names)),
  ];
}

function descriptorsByName(pools: readonly PoolDescriptor[]): ReadonlyMap<string, PoolDescriptor> {
  const byName = new Map<string, PoolDescriptor>();
  for (const pool of pools) if (!byName.has(pool.poolName)) byName.set(pool.poolName, pool);
  return byName;
}

function jobNames(bundle: Bundle): ReadonlySet<string> {
  return new Set(bundle.jobs.map((job) => job.jobName));
}

type Finding = ValidationFinding<ValidationCode>;

function poolFindings(bundle: Bundle, configured: ReadonlyMap<string, unknown>): readonly Finding[] {
  if (bundle.pool === '') {
    return [{ code: 'emptyPoolList', message: `The bundle's pool is ""; ${nameAPool(configured)}` }];
  }
  if (configured.has(bundle.pool)) return [];
  return [
    {
      code: 'unknownPoolName',
      message: `The bundle's pool ${quote(bundle.pool)} is not configured; ${nameAPool(configured)}`,
    },
  ];
}

function resilienceFindings(bundle: Bundle, byName: ReadonlyMap<string, PoolDescriptor>): readonly Finding[] {
  return [...unknownResiliencePool(bundle, byName), ...sameCloudFindings(bundle, byName)];
}

function unknownResiliencePool(bundle: Bundle, configured: ReadonlyMap<string, unknown>): readonly Finding[] {
  const named = bundle.resiliencePolicy?.pool;
  if (named === undefined || configured.has(named)) return [];
  return [
    {
      code: 'unknownResiliencePool',
      message:
        `The resilience policy's pool ${quote(named)} is not configured; ${nameAPool(configured)} ` +
        "Without one the backup uses the bundle's own pool.",
    },
  ];
}

function sameCloudFindings(bundle: Bundle, byName: ReadonlyMap<string, PoolDescriptor>): readonly Finding[] {
  const policy = bundle.resiliencePolicy;
  if (policy?.sameCloud !== 'forbid') return [];
  if (policy.pool !== undefined && policy.pool !== bundle.pool) return [];
  const pool = byName.get(bundle.pool);
  // As the list is: who gives one cloud twice has said that it is two domains.
  if (pool === undefined || pool.clouds.length >= 2) return [];
  const spans = pool.clouds.length === 0 ? 'spans no cloud' : `spans one cloud, ${listNames(pool.clouds)}`;
  return [
    {
      code: 'resilienceUnsatisfiable',
      message:
        `The resilience policy has sameCloud "forbid", and the backup shares the pool ${quote(bundle.pool)}, which ${spans}; ` +
        'it takes two. Allow sameCloud, or name a resilience pool in another cloud.',
    },
  ];
}

function duplicateFindings(bundle: Bundle): readonly Finding[] {
  const first = new Map<string, number>();
  const findings: Finding[] = [];
  for (const [i, { jobName }] of bundle.jobs.entries()) {
    const taken = first.get(jobName);
    if (taken === undefined) {
      first.set(jobName, i);
      continue;
    }
    findings.push({
      code: 'duplicateJobName',
      message: `The name ${quote(jobName)} of jobs[${i}] is that of jobs[${taken}] already; every job of a bundle has a name of its own.`,
    });
  }
  return findings;
}

function referenceFindings(job: BundleJobSpec, names: ReadonlySet<string>): readonly Finding[] {
  const together = new Set(job.coLocateWith ?? []);
  const apart = new Set(job.separateFrom ?? []);
  return [
    ...listFindings(job, 'coLocateWith', together, names),
    ...listFindings(job, 'separateFrom', apart, names),
    ...[...together]
      .filter((name) => apart.has(name))
      .map(
        (name): Finding => ({
          code: 'contradictoryPlacement',
          message: `Job ${quote(job.jobName)} lists ${quote(name)} in both coLocateWith and separateFrom; take it out of one of them.`,
        }),
      ),
  ];
}

function listFindings(
  job: BundleJobSpec,
  list: 'coLocateWith' | 'separateFrom',
  listed: ReadonlySet<string>,
  names: ReadonlySet<string>,
): readonly Finding[] {
  const findings: Finding[] = [];
  for (const name of listed) {
    if (name === job.jobName) {
      findings.push({
        code: 'selfReferenceInPlacement',
        message: `Job ${quote(job.jobName)} lists itself in ${list}; take it out.`,
      });
    } else if (!names.has(name)) {
      findings.push({
        code: 'unknownJobNameInPlacement',
        message: `Job ${quote(job.jobName)} lists ${quote(name)} in ${list}, and the bundle has no job of that name; its jobs are ${listNames([...names])}.`,
      });
    }
  }
  return findings;
}

interface Profile {
  readonly totalCapacity: number | undefined;
  readonly totalCores: number | undefined;
  readonly capabilities: ReadonlyMap<string, Capability>;
}

interface Offer {
  readonly poolName: string;
  readonly profiles: readonly Profile[];
}

/** For every job what no profile of the pool can give it. */
function capacityFindings(bundle: Bundle, pool: PoolDescriptor): readonly (readonly Finding[])[] {
  const offer: Offer = {
    poolName: pool.poolName,
    profiles: pool.nodeProfiles.map((profile) => ({
      totalCapacity: profile.totalCapacity,
      totalCores: profile.totalCores,
      capabilities: firstByName(profile.capabilities ?? []),
    })),
  };
  return bundle.jobs.map((job) => {
    const needs = job.requirements;
    return [
      ...amountFindings(job, 'unsatisfiableCapacity', needs?.requiredCapacity, offer),
      ...amountFindings(job, 'unsatisfiableCores', needs?.requiredCores, offer),
      ...(needs?.requiredCapabilities ?? []).flatMap((c) => capabilityFindings(job, c, offer)),
    ];
  });
}

function amountFindings(
  job: BundleJobSpec,
  code: 'unsatisfiableCapacity' | 'unsatisfiableCores',
  need: number | undefined,
  offer: Offer,
): readonly Finding[] {
  // Written so that NaN, which compares as false, is not checked here.
  if (need === undefined || !(need > 0)) return [];
  const [what, amountOf] =
    code === 'unsatisfiableCapacity'
      ? (['capacity', (profile: Profile) => profile.totalCapacity] as const)
      : (['cores', (profile: Profile) => profile.totalCores] as const);
  let best = Number.NEGATIVE_INFINITY;
  for (const profile of offer.profiles) {
    const amount = amountOf(profile);
    // An unknown amount may be enough, and a finding is made of what is known only.
    if (amount === undefined || amount >= need) return [];
    if (amount > best) best = amount;
  }
  const inPool = `pool ${quote(offer.poolName)}`;
  const offers = Number.isFinite(best)
    ? `the best profile of ${inPool} offers ${best}`
    : `${inPool} has no node profile that offers any`;
  return [{ code, message: `Job ${quote(job.jobName)} needs ${what} ${need}, and ${offers}.` }];
}

function capabilityFindings(
  job: BundleJobSpec,
  requirement: CapabilityRequirement,
  offer: Offer,
): readonly Finding[] {
  let best: { readonly entry: Capability; readonly matches: boolean } | undefined;
  for (const { capabilities } of offer.profiles) {
    const entry = capabilities.get(requirement.name);
    if (entry === undefined) continue;
    const matches = hasAttributes(entry.attributes, requirement.attributeMatches);
    if (matches && entry.count >= requirement.count) return [];
    const isBetter =
      best === undefined || (matches === best.matches ? entry.count > best.entry.count : matches);
    if (isBetter) best = { entry, matches };
  }
  const inPool = `pool ${quote(offer.poolName)}`;
  const offers =
    best === undefined
      ? `no profile of ${inPool} has that capability`
      : `the best profile of ${inPool} offers ${best.entry.count}${shownAttributes(best.entry, requirement)}`;
  return [
    {
      code: 'unsatisfiableCapability',
      message: `Job ${quote(job.jobName)} needs ${describeRequirement(requirement)}, and ${offers}.`,
    },
  ];
}

/** Of the attributes that were asked for, those that are otherwise, as they are. */
function shownAttributes(offered: Capability, requirement: CapabilityRequirement): string {
  const there = new Map(Object.entries(offered.attributes ?? {}));
  const unmet = Object.entries(requirement.attributeMatches ?? {})
    .filter(([name, value]) => there.get(name) !== value)
    .map(([name]) => [name, there.get(name)] as const);
  return describeAttributes(' with ', unmet);
}

function nameAPool(configured: ReadonlyMap<string, unknown>): string {
  return configured.size === 0
    ? 'no pool is configured.'
    : `name one that is configured: ${listNames([...configured.keys()])}.`;
}
