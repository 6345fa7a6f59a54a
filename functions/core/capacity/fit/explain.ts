/** Why a shape does not fit, in numbers that a person can check. */
import { distance } from 'fastest-levenshtein';
import { quote } from '../../quote.ts';
import { compareUtf8 } from '../../utf8-order.ts';
import type { Bounds } from '../monotone.ts';
import { describePods, SIZES_SHOWN } from '../view/describe-pods.ts';
import { count, EMPTY, type Histogram, largestFirst, plus, volume } from '../view/histogram.ts';
import { owedOn } from '../view/owed.ts';
import type { TargetView } from '../view/view.ts';
import type { Candidate, Misses, PodClass } from './candidate.ts';
import type { Taken } from './room.ts';

/** Why this many chains do not fit, or are not known to. */
export function explain(candidate: Candidate, asked: number, bounds: Bounds, taken: Taken): string {
  if (bounds.atLeast >= asked) return '';
  if (bounds.atMost >= asked) {
    return `undecided: the search reached its bound on work; ${chainsFit(bounds)}`;
  }
  const closed = candidate.classes.find(({ targets }) => targets.length === 0);
  if (closed !== undefined) return explainClosed(candidate, closed);
  return `${shortage(candidate, asked, taken)}${asked > 1 ? `; ${chainsFit(bounds)}` : ''}`;
}

function chainsFit({ atLeast, atMost }: Bounds): string {
  return atLeast === atMost
    ? `at most ${chains(atMost)} ${atMost === 1 ? 'fits' : 'fit'}`
    : `${atLeast} to ${chains(atMost)} fit`;
}

function explainClosed(candidate: Candidate, { podIndex, accelerators }: PodClass): string {
  const closed = candidate.targets.filter(
    ({ eligible, acceleratorsPerNode }) => !eligible && acceleratorsPerNode >= accelerators,
  );
  const names = closed.slice(0, SIZES_SHOWN).map(nameOf).join(', ');
  const more = closed.length > SIZES_SHOWN ? ` and ${closed.length - SIZES_SHOWN} more` : '';
  return `pod ${podIndex} (${accelerators} accelerators) could stand only in ${names}${more}, not eligible for new work`;
}

/** Pods with nowhere else to go than a set of targets, what comes before them there, and what is free. */
interface Squeeze {
  readonly targets: readonly TargetView[];
  readonly pods: Histogram;
  readonly before: Histogram;
  readonly free: Histogram;
}

/** The first count that is exceeded: slots of some size, then the sum, for each set of targets and then for all. */
function shortage(candidate: Candidate, asked: number, taken: Taken): string {
  const squeezes = targetSets(candidate).map((targets) => squeeze(candidate, targets, asked, taken));
  for (const one of squeezes) {
    const size = [...one.pods.keys()].find(
      (size) => podsOf(one.pods, size) + podsOf(one.before, size) > slots(one.free, size),
    );
    if (size !== undefined) return where(candidate, one) + tooFewSlots(one, size) + comesFirst(one);
  }
  for (const one of squeezes) {
    const free = volume(one.free);
    if (volume(one.pods) + volume(one.before) > free) {
      return `${where(candidate, one)}needs ${volume(one.pods)} accelerators; ${free} are free${comesFirst(one)}`;
    }
  }
  const all = squeezes.at(-1);
  if (all === undefined) return '';
  return (
    `needs ${describePods(all.pods)}; each size has room by itself, but no packing holds them all: ` +
    `${nodeList(all.free)}${comesFirst(all)}`
  );
}

/** The target sets of the classes, the narrowest first, and all of them together. */
function targetSets({ classes }: Candidate): readonly ReadonlySet<number>[] {
  const sets = new Map(classes.map(({ targets }) => [targets.join(','), new Set(targets)]));
  const all = new Set(classes.flatMap(({ targets }) => targets));
  return [...sets.values(), all].sort((a, b) => a.size - b.size);
}

function squeeze(candidate: Candidate, targets: ReadonlySet<number>, asked: number, taken: Taken): Squeeze {
  const pods = new Map<number, number>();
  for (const { accelerators, perChain, targets: standing } of candidate.classes) {
    if (standing.every((target) => targets.has(target))) count(pods, accelerators, perChain * asked);
  }
  const views = [...targets].flatMap((index) => candidate.targets[index] ?? []);
  return {
    targets: views,
    pods: largestFirst(pods),
    before: views.reduce((sum, view) => plus(sum, owedOn(view, taken.get(view)).pods), EMPTY),
    free: views.reduce((sum, { occupancy }) => plus(sum, occupancy.freeNodes), EMPTY),
  };
}

function podsOf(pods: Histogram, atLeast: number): number {
  let sum = 0;
  for (const [size, times] of pods) if (size >= atLeast) sum += times;
  return sum;
}

function slots(free: Histogram, size: number): number {
  let sum = 0;
  for (const [room, nodes] of free) sum += nodes * Math.floor(room / size);
  return sum;
}

function tooFewSlots({ pods, free }: Squeeze, size: number): string {
  const needed = podsOf(pods, size);
  const largest = Math.max(0, ...free.keys());
  if (largest < 2 * size) {
    const none = largest < size ? `0 have ${size}${free.size > 0 ? ', ' : ''}` : '';
    return `needs ${needed} ${needed === 1 ? 'node' : 'nodes'} with ${size} free; ${none}${nodeList(free)}`;
  }
  return `needs room for ${needed} pods of ${size}; there is room for ${slots(free, size)}: ${nodeList(free)}`;
}

function nodeList(free: Histogram): string {
  const all = [...largestFirst(free)].map(
    ([size, nodes]) => `${nodes} ${nodes === 1 ? 'has' : 'have'} ${size}`,
  );
  const shown = all.slice(0, SIZES_SHOWN).join(', ');
  return all.length > SIZES_SHOWN ? `${shown}, others less` : shown;
}

function comesFirst({ before }: Squeeze): string {
  return before.size === 0 ? '' : `, before demand that comes first: ${describePods(before)}`;
}

/** Names the targets where a candidate has others too. */
function where(candidate: Candidate, { targets }: Squeeze): string {
  if (targets.length === candidate.targets.length) return '';
  const names = targets.slice(0, SIZES_SHOWN).map(nameOf).join(', ');
  return `${names}${targets.length > SIZES_SHOWN ? ` and ${targets.length - SIZES_SHOWN} more` : ''}: `;
}

function nameOf({ poolId, nodeTypeId }: TargetView): string {
  return `node type ${quote(nodeTypeId)} of pool ${quote(poolId)}`;
}

function chains(number: number): string {
  return number === 1 ? '1 chain' : `${number} chains`;
}

/** Why a shape has no candidate at all. */
export function explainMisses(misses: Misses | undefined, clusters: number): string {
  if (clusters === 0) return 'no cluster is in the map, or none meets the filter';
  if (misses === undefined)
    return 'each pod has node types that it could stand in, but no cluster, fabric or zone has them for all pods of a chain';
  const { podIndex, nodeTypes, reasons, unknownModels, models } = misses;
  if (nodeTypes === 0) return 'no node type meets the filter';
  const parts = [...reasons].map(([reason, times]) => `${times} ${reason}`);
  return `no node type meets pod ${podIndex}: of ${nodeTypes}, ${parts.join(', ')}${nearestModels(unknownModels, models)}`;
}

/** Models of the map that are named; the spellings of one model are few. */
const MODELS_SHOWN = 3;

/** Names longer than this are compared by their beginning: the time grows with the product of the lengths. */
const MAX_COMPARED = 128;

/** The models of the map that are most like one that it does not have, in whatever case. */
function nearestModels(unknown: readonly string[], models: readonly string[]): string {
  const [asked] = unknown;
  if (asked === undefined || models.length === 0) return '';
  const folded = (model: string): string => model.slice(0, MAX_COMPARED).toLowerCase();
  const distances = models.map((model) => ({ model, away: distanceOf(folded(asked), folded(model)) }));
  const nearest = distances
    .sort((a, b) => a.away - b.away || compareUtf8(a.model, b.model))
    .slice(0, MODELS_SHOWN)
    .map(({ model }) => quote(model));
  return `; the models of the map nearest to ${quote(asked)} are ${nearest.join(', ')}`;
}

/** `H100` is nearer to `NVIDIA-H100-80GB-HBM3` than to `T4`: a name within another differs by nothing. */
function distanceOf(asked: string, model: string): number {
  return model.includes(asked) || asked.includes(model) ? 0 : distance(asked, model);
}
