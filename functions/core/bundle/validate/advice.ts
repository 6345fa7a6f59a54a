/**
 * The extended checks: what the eleven codes leave open, since it follows only from
 * several needs, jobs or rules together. Advice has codes of its own and never stands
 * among errors or warnings; a bundle with advice may be submitted.
 */
import { quote } from '../../quote.ts';
import { type Amount, largest } from '../model/amounts.ts';
import type { AdviceCode } from '../model/codes.ts';
import { describeDevice, describeRequirement, listNames } from '../model/describe.ts';
import { groupJobs, type JobGroups } from '../model/groups.ts';
import type { Bundle, BundleJobSpec, PoolDescriptor, ValidationFinding } from '../model/model.ts';
import { type Needs, NO_NEEDS, needsOf, together } from '../model/needs.ts';
import type { NodeState } from '../model/node.ts';
import { emptyNode, mayHold, profileBudget } from '../model/profile.ts';
import type { WorkBudget } from '../work.ts';

type Advice = ValidationFinding<AdviceCode>;

/** All advice, by code in the order of {@link AdviceCode}, and in that by job. */
export function adviseBundle(bundle: Bundle, pools: ReadonlyMap<string, PoolDescriptor>): readonly Advice[] {
  const groups = groupJobs(bundle);
  const needs = bundle.jobs.map((job, i) => needsOf(job.requirements, i));
  const pool = pools.get(bundle.pool);
  const budget = profileBudget();
  const offer = pool === undefined ? undefined : { pool, nodes: pool.nodeProfiles.map(emptyNode), budget };
  return [
    ...transitiveContradictions(bundle, groups),
    ...(offer === undefined
      ? []
      : [
          ...groupsExceedingNodes(bundle, groups, needs, offer),
          ...withoutSingleProfile(bundle, needs, offer),
          ...unsatisfiableGpus(bundle, needs, offer),
        ]),
    ...unsatisfiableBackup(bundle, needs, pools, budget),
    ...invalidNumbers(bundle),
  ];
}

/** The numbers of a bundle that no amount can have; planning refuses a bundle with any of them. */
export function invalidNumbers(bundle: Bundle): readonly Advice[] {
  return bundle.jobs.flatMap((job) => {
    const needs = job.requirements;
    const numbers: readonly (readonly [string, number | undefined])[] = [
      ['requiredCapacity', needs?.requiredCapacity],
      ['requiredCores', needs?.requiredCores],
      ['requiredGpuCapacity', needs?.requiredGpuCapacity],
      ...(needs?.requiredCapabilities ?? []).map(
        (c) => [`the count of capability ${quote(c.name)}`, c.count] as const,
      ),
    ];
    return numbers
      .filter(([, value]) => value !== undefined && !(Number.isFinite(value) && value >= 0))
      .map(
        ([what, value]): Advice => ({
          code: 'invalidNumber',
          message: `Job ${quote(job.jobName)} has ${value} for ${what}; give a finite number of 0 or more.`,
        }),
      );
  });
}

interface Offer {
  readonly pool: PoolDescriptor;
  /** One empty node a profile. */
  readonly nodes: readonly NodeState[];
  /** Shared by all that is asked of them. */
  readonly budget: WorkBudget;
}

/** Pairs of jobs that rules bind to one node and keep apart. Those that one job lists in both lists are `contradictoryPlacement` already. */
export function transitiveContradictions(bundle: Bundle, { contradictions }: JobGroups): readonly Advice[] {
  return contradictions
    .filter(
      ({ a, b }) => !listsBoth(bundle.jobs[a], bundle.jobs[b]) && !listsBoth(bundle.jobs[b], bundle.jobs[a]),
    )
    .map(({ a, b, chain }) => ({
      code: 'transitiveContradiction',
      message:
        `Jobs ${nameOf(bundle, a)} and ${nameOf(bundle, b)} must stand apart, and co-location binds them to one node ` +
        `(${describeChain(bundle, chain)}); take one of these references out.`,
    }));
}

function listsBoth(job: BundleJobSpec | undefined, other: BundleJobSpec | undefined): boolean {
  if (job === undefined || other === undefined) return false;
  const { jobName } = other;
  return (job.coLocateWith ?? []).includes(jobName) && (job.separateFrom ?? []).includes(jobName);
}

function groupsExceedingNodes(
  bundle: Bundle,
  { groups }: JobGroups,
  needs: readonly Needs[],
  { pool, nodes, budget }: Offer,
): readonly Advice[] {
  if (nodes.length === 0) return [];
  return groups
    .filter((group) => group.length > 1)
    .flatMap((group) => {
      const all = together(group.map((job) => needs[job] ?? NO_NEEDS));
      if (nodes.some((node) => mayHold(node, all, budget))) return [];
      const names = listNames(group.map((job) => bundle.jobs[job]?.jobName ?? ''));
      return [
        {
          code: 'groupExceedsNode',
          message:
            `Jobs ${names} must share a node and together need ${describeNeeds(all)}, which no single profile of pool ` +
            `${quote(pool.poolName)} holds; ${describeBest(nodes)}.`,
        } as const,
      ];
    });
}

/** Jobs each of whose needs some profile meets, and no profile all of them. */
function withoutSingleProfile(bundle: Bundle, needs: readonly Needs[], offer: Offer): readonly Advice[] {
  return bundle.jobs.flatMap((job, i) => {
    const all = needs[i] ?? NO_NEEDS;
    if (offer.nodes.some((node) => mayHold(node, all, offer.budget))) return [];
    if (
      !singleNeeds(all).every(({ alone }) => offer.nodes.some((node) => mayHold(node, alone, offer.budget)))
    )
      return [];
    return [
      {
        code: 'noSingleProfile',
        message:
          `Job ${quote(job.jobName)} needs ${describeNeeds(all)}; profiles of pool ${quote(offer.pool.poolName)} meet each of these, ` +
          'and none of them all.',
      } as const,
    ];
  });
}

function unsatisfiableGpus(bundle: Bundle, needs: readonly Needs[], offer: Offer): readonly Advice[] {
  return bundle.jobs.flatMap((job, i) => {
    const { devices } = needs[i] ?? NO_NEEDS;
    const shares = devices.filter(
      (need) => need.kind === 'share' || need.model !== '' || need.atLeast.isPositive,
    );
    if (
      shares.length === 0 ||
      offer.nodes.some((node) => mayHold(node, { ...NO_NEEDS, devices: shares }, offer.budget))
    )
      return [];
    return [
      {
        code: 'gpuUnsatisfiable',
        message:
          `Job ${quote(job.jobName)} needs ${shares.map(describeDevice).join(' and ')}, and ` +
          `${describeDevices(offer)}.`,
      } as const,
    ];
  });
}

/** The backup's own pool, where the policy names another one, against each need of each job. */
function unsatisfiableBackup(
  bundle: Bundle,
  needs: readonly Needs[],
  pools: ReadonlyMap<string, PoolDescriptor>,
  budget: WorkBudget,
): readonly Advice[] {
  const named = bundle.resiliencePolicy?.pool;
  if (named === undefined || named === bundle.pool) return [];
  const pool = pools.get(named);
  if (pool === undefined) return [];
  const nodes = pool.nodeProfiles.map(emptyNode);
  return bundle.jobs.flatMap((job, i) => {
    const all = needs[i] ?? NO_NEEDS;
    const unmet = singleNeeds(all).filter(({ alone }) => !nodes.some((node) => mayHold(node, alone, budget)));
    if (unmet.length === 0) return [];
    return [
      {
        code: 'backupPoolUnsatisfiable',
        message:
          `The backup of job ${quote(job.jobName)} needs ${unmet.map((need) => need.described).join(' and ')}, which no profile of the resilience pool ` +
          `${quote(named)} offers; ${describeBest(nodes)}.`,
      } as const,
    ];
  });
}

interface SingleNeed {
  readonly described: string;
  readonly alone: Needs;
}

/** Each need by itself. */
function singleNeeds(needs: Needs): readonly SingleNeed[] {
  return [
    ...(needs.capacity.isPositive
      ? [{ described: `capacity ${needs.capacity}`, alone: { ...NO_NEEDS, capacity: needs.capacity } }]
      : []),
    ...(needs.cores.isPositive
      ? [{ described: `cores ${needs.cores}`, alone: { ...NO_NEEDS, cores: needs.cores } }]
      : []),
    ...needs.capabilities.map((requirement) => ({
      described: describeRequirement(requirement),
      alone: {
        ...NO_NEEDS,
        capabilities: [requirement],
        units: new Map([[requirement.name, requirement.count]]),
      },
    })),
    ...needs.devices
      .filter((need) => need.kind === 'share' || need.model !== '' || need.atLeast.isPositive)
      .map((need) => ({ described: describeDevice(need), alone: { ...NO_NEEDS, devices: [need] } })),
  ];
}

function describeNeeds(needs: Needs): string {
  const described = [
    ...(needs.capacity.isPositive ? [`capacity ${needs.capacity}`] : []),
    ...(needs.cores.isPositive ? [`cores ${needs.cores}`] : []),
    ...needs.devices.filter((need) => need.kind === 'share').map(describeDevice),
    ...[...needs.units].map(([name, count]) => `${count} × ${quote(name)}`),
  ];
  const shown = described.slice(0, 8).join(', ');
  return described.length > 8 ? `${shown} and ${described.length - 8} more` : shown;
}

/** What devices the profiles have, each kind once. */
function describeDevices({ pool, nodes }: Offer): string {
  const kinds = new Set<string>();
  for (const { model, total } of nodes.flatMap((node) => node.devices)) {
    kinds.add(
      `${model === undefined ? 'a model that is not known' : quote(model)} (capacity ${total ?? 'not known'})`,
    );
  }
  const inPool = `pool ${quote(pool.poolName)}`;
  if (kinds.size === 0) return `no profile of ${inPool} has a device`;
  const shown = [...kinds].slice(0, 8).join(', ');
  return `the devices of ${inPool} are ${shown}${kinds.size > 8 ? ` and ${kinds.size - 8} more kinds` : ''}`;
}

/** The most of each amount that any profile offers, not necessarily one and the same. */
function describeBest(nodes: readonly NodeState[]): string {
  if (nodes.length === 0) return 'it has no profile';
  return `the most that any profile offers is capacity ${most(nodes, (n) => n.capacity.limit)} and cores ${most(nodes, (n) => n.cores.limit)}`;
}

function most(nodes: readonly NodeState[], of: (node: NodeState) => Amount | undefined): string {
  const amounts = nodes.map(of).filter((amount) => amount !== undefined);
  return amounts.length < nodes.length ? 'unknown' : String(largest(amounts));
}

function nameOf(bundle: Bundle, job: number): string {
  return quote(bundle.jobs[job]?.jobName ?? '');
}

/** Long chains are cut in the middle: where they begin and end is what can be changed. */
function describeChain(bundle: Bundle, chain: readonly number[]): string {
  const names = chain.map((job) => nameOf(bundle, job));
  const shown =
    names.length > 6 ? [...names.slice(0, 3), `${names.length - 5} more`, ...names.slice(-2)] : names;
  return shown.join(' – ');
}
