/**
 * Where a shape could stand: a cluster, or one fabric or zone of it where its pods have to
 * share one. Candidates have no target in common, so what fits in two of them fits in both
 * at once.
 */
import { compareUtf8 } from '../../utf8-order.ts';
import { compareFractions, fraction } from '../decimal.ts';
import type { DatedView } from '../view/target-row.ts';
import type { ClusterView, TargetView } from '../view/view.ts';
import { type PodRequest, type ShapeRequest, spansPods } from './fit-request.ts';
import { type Mismatch, mismatch } from './match.ts';

/** One candidate for one shape. */
export interface Candidate {
  readonly cluster: DatedView;
  /** Empty where the shape does not ask for the same. */
  readonly fabricId: string;
  readonly zone: string;
  /** Where at least one of the pods may stand; the cheapest accelerator first, then by pool and node type id. */
  readonly targets: readonly TargetView[];
  /** The pods of one chain, those that ask for the same together. Never empty. */
  readonly classes: readonly PodClass[];
}

/** Pods of a chain that take the same and may stand in the same targets. */
export interface PodClass {
  /** The lowest index of them in the shape. */
  readonly podIndex: number;
  readonly accelerators: number;
  readonly perChain: number;
  /** Indexes into the candidate's targets: those that meet the pod's conditions and take new work. */
  readonly targets: readonly number[];
}

/** The candidates of a shape, or what kept every node type out. */
export interface Candidates {
  readonly candidates: readonly Candidate[];
  /** Of the first pod that no candidate could be found for: how many node types there are, and what was amiss with how many. */
  readonly misses: Misses | undefined;
}

export interface Misses {
  readonly podIndex: number;
  readonly nodeTypes: number;
  readonly reasons: ReadonlyMap<Mismatch, number>;
  /** Models that the pod asks for and no node type has, and the models that there are. */
  readonly unknownModels: readonly string[];
  readonly models: readonly string[];
}

/** @param accepts what the request's filter leaves */
export function candidatesOf(
  shape: ShapeRequest,
  clusters: readonly DatedView[],
  accepts: (cluster: ClusterView, target: TargetView) => boolean,
): Candidates {
  const kinds = distinctPods(shape);
  const candidates: Candidate[] = [];
  for (const cluster of clusters) {
    const targets = cluster.view.targets.filter((target) => accepts(cluster.view, target));
    for (const domain of domainsOf(shape, targets)) {
      const candidate = candidateIn(cluster, domain, kinds);
      if (candidate !== undefined) candidates.push(candidate);
    }
  }
  return { candidates, misses: candidates.length > 0 ? undefined : missesOf(kinds, clusters, accepts) };
}

/** Pods that ask for the same. */
interface PodKind {
  readonly podIndex: number;
  readonly pod: PodRequest;
  readonly perChain: number;
}

function distinctPods({ pods, copies }: ShapeRequest): readonly PodKind[] {
  const kinds = new Map<string, PodKind>();
  for (const [podIndex, pod] of pods.entries()) {
    const asked = JSON.stringify(pod, (_, value) => (typeof value === 'bigint' ? String(value) : value));
    const kind = kinds.get(asked) ?? { podIndex, pod, perChain: 0 };
    kinds.set(asked, { ...kind, perChain: kind.perChain + (copies?.[podIndex] ?? 1) });
  }
  return [...kinds.values()];
}

/** Targets that the pods of one chain may share. */
interface Domain {
  readonly fabricId: string;
  readonly zone: string;
  readonly targets: readonly TargetView[];
}

function domainsOf(shape: ShapeRequest, targets: readonly TargetView[]): readonly Domain[] {
  const byFabric = shape.sameFabric && spansPods(shape);
  const byZone = shape.sameZone && spansPods(shape);
  if (!byFabric && !byZone) return [{ fabricId: '', zone: '', targets }];
  const domains = new Map<string, { fabricId: string; zone: string; targets: TargetView[] }>();
  for (const target of targets) {
    // Unknown is not the same as unknown.
    if ((byFabric && target.fabricId === '') || (byZone && target.zone === '')) continue;
    const fabricId = byFabric ? target.fabricId : '';
    const zone = byZone ? target.zone : '';
    const name = JSON.stringify([fabricId, zone]);
    const domain = domains.get(name) ?? { fabricId, zone, targets: [] };
    domains.set(name, domain);
    domain.targets.push(target);
  }
  return [...domains.values()];
}

/** A candidate, if every pod has a target in the domain whose conditions it meets, whether or not it takes new work now. */
function candidateIn(cluster: DatedView, domain: Domain, kinds: readonly PodKind[]): Candidate | undefined {
  const matching = kinds.map(
    ({ pod }) => new Set(domain.targets.filter((target) => mismatch(target, pod) === undefined)),
  );
  if (matching.some(({ size }) => size === 0)) return undefined;
  const targets = domain.targets.filter((target) => matching.some((set) => set.has(target))).sort(byPrice);
  const classes = new Map<string, PodClass>();
  for (const [index, { podIndex, pod, perChain }] of kinds.entries()) {
    const standing = targets.flatMap((target, position) =>
      target.eligible && matching[index]?.has(target) ? [position] : [],
    );
    const name = `${pod.accelerators}:${standing.join(',')}`;
    const same = classes.get(name);
    classes.set(name, {
      podIndex: same?.podIndex ?? podIndex,
      accelerators: pod.accelerators,
      perChain: perChain + (same?.perChain ?? 0),
      targets: standing,
    });
  }
  return { cluster, fabricId: domain.fabricId, zone: domain.zone, targets, classes: [...classes.values()] };
}

/** Price of an accelerator-hour, known ones first. Currencies cannot be compared, only kept apart. */
function byPrice(a: TargetView, b: TargetView): number {
  if (a.price !== undefined && b.price !== undefined) {
    return (
      compareUtf8(a.price.currency, b.price.currency) ||
      compareFractions(
        fraction(a.price.amount, 1n, BigInt(a.acceleratorsPerNode)),
        fraction(b.price.amount, 1n, BigInt(b.acceleratorsPerNode)),
      ) ||
      byId(a, b)
    );
  }
  return Number(a.price === undefined) - Number(b.price === undefined) || byId(a, b);
}

function byId(a: TargetView, b: TargetView): number {
  return compareUtf8(a.poolId, b.poolId) || compareUtf8(a.nodeTypeId, b.nodeTypeId);
}

/** Counts, for the first pod that stands nowhere, what kept it out; where each stands somewhere, for none. */
function missesOf(
  kinds: readonly PodKind[],
  clusters: readonly DatedView[],
  accepts: (cluster: ClusterView, target: TargetView) => boolean,
): Misses | undefined {
  for (const { podIndex, pod } of kinds) {
    const reasons = new Map<Mismatch, number>();
    let nodeTypes = 0;
    let missed = 0;
    const models = new Set<string>();
    for (const { view } of clusters) {
      for (const target of view.targets) {
        if (!accepts(view, target)) continue;
        nodeTypes++;
        if (target.acceleratorModel !== '') models.add(target.acceleratorModel);
        const reason = mismatch(target, pod);
        if (reason === undefined) continue;
        missed++;
        reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      }
    }
    if (missed === nodeTypes) {
      const unknownModels = pod.acceleratorModels.some((model) => models.has(model))
        ? []
        : pod.acceleratorModels;
      return { podIndex, nodeTypes, reasons, unknownModels, models: [...models] };
    }
  }
  return undefined;
}
