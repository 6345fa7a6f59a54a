/**
 * Whether pods fit into nodes: exactly, or honestly undecided. In this order, for each
 * independent part of the problem:
 *
 * 1. counting: a sum or a number of slots that is exceeded is a no;
 * 2. sizes that divide one another are settled by counting alone;
 * 3. best-fit decreasing: a yes;
 * 4. a short exact search, which ends nearly everything small;
 * 5. the configuration LP: a proven no, or nearly all of a packing and a search for the rest;
 * 6. the exact search, until it ends or the bound on work is reached.
 */
import { type Component, type ComponentPacking, componentsOf, packingOf } from './component.ts';
import { solveConfigurationLp, wholePart } from './configuration-lp.ts';
import { packDivisible } from './divisible.ts';
import { packGreedily } from './greedy.ts';
import { STEPS_PER_DECISION } from './limits.ts';
import {
  assertPacks,
  IMPOSSIBLE,
  type PackedBins,
  type PackingOutcome,
  type PackingProblem,
  UNDECIDED,
} from './problem.ts';
import { search } from './search.ts';
import type { Work } from './work.ts';

/** Steps of the first search. What is small or tight ends within them. */
const SHORT_SEARCH_STEPS = 5_000;

/** Steps for what the whole part of the LP leaves. */
const REST_SEARCH_STEPS = 100_000;

type ComponentOutcome = readonly ComponentPacking[] | 'impossible' | 'undecided';

/**
 * Decides a packing problem. A `packed` has been checked and an `impossible` is proven;
 * `undecided` says that `work`, or the bound for one decision, was used up.
 */
export function pack(problem: PackingProblem, work: Work): PackingOutcome {
  const packing: PackedBins[] = [];
  let undecided = false;
  for (const component of componentsOf(problem)) {
    const allowance = work.allow(STEPS_PER_DECISION);
    const granted = allowance.left;
    const outcome = packComponent(component, allowance);
    work.spend(granted - allowance.left);
    // A later part may still prove a no, which is worth more than an undecided.
    if (outcome === 'impossible') return IMPOSSIBLE;
    if (outcome === 'undecided') undecided = true;
    else packing.push(...packingOf(component, outcome));
  }
  if (undecided) return UNDECIDED;
  assertPacks(problem, packing);
  return { kind: 'packed', packing };
}

function packComponent(component: Component, work: Work): ComponentOutcome {
  if (exceedsCounts(component)) return 'impossible';
  if (!isCountable(component)) return packGreedily(component, work) ?? 'undecided';
  const divisible = packDivisible(component, work);
  if (divisible !== 'unsuited') return divisible;
  const greedy = packGreedily(component, work);
  if (greedy !== undefined) return greedy;
  return (
    searchWithin(component, work, SHORT_SEARCH_STEPS) ??
    packByLp(component, work) ??
    searchWithin(component, work, work.left) ??
    'undecided'
  );
}

/**
 * A no by counting, in exact arithmetic. For each size s, a pod of at least s takes ⌊size/s⌋
 * slots of s or more and a bin has ⌊room/s⌋; and all pods together need their sum. Only
 * bins where at least one of the pods may stand count.
 */
function exceedsCounts({ bins, items }: Component): boolean {
  for (const [index, { size: unit }] of items.entries()) {
    if (items[index + 1]?.size === unit) continue;
    const larger = items.slice(0, index + 1);
    let load = 0n;
    let taken = 0n;
    for (const { size, count } of larger) {
      load += BigInt(size) * BigInt(count);
      taken += BigInt(Math.floor(size / unit)) * BigInt(count);
    }
    let room = 0n;
    let slots = 0n;
    for (const { target, size, count } of bins) {
      if (size < unit || !larger.some(({ allowed }) => allowed[target])) continue;
      room += BigInt(size) * BigInt(count);
      slots += BigInt(Math.floor(size / unit)) * BigInt(count);
    }
    if (taken > slots || load > room) return true;
  }
  return false;
}

/** Whether every sum the engines form stays an exact integer. No real cluster comes near; a hostile snapshot may. */
function isCountable({ bins, items }: Component): boolean {
  const total = [...bins, ...items].reduce((sum, { size, count }) => sum + size * count, 0);
  return total <= Number.MAX_SAFE_INTEGER;
}

function searchWithin(component: Component, work: Work, steps: number): ComponentOutcome | undefined {
  const allowance = work.allow(steps);
  const granted = allowance.left;
  const outcome = search(component, allowance);
  work.spend(granted - allowance.left);
  return outcome === 'undecided' ? undefined : outcome;
}

function packByLp(component: Component, work: Work): ComponentOutcome | undefined {
  const lp = solveConfigurationLp(component, work);
  if (lp.kind === 'none') return undefined;
  if (lp.kind === 'impossible') return 'impossible';
  const { packing, rest } = wholePart(component, lp.patterns);
  const filled = searchWithin(rest, work, REST_SEARCH_STEPS);
  // That the rest does not fit says nothing about the whole.
  if (filled === undefined || filled === 'impossible' || filled === 'undecided') return undefined;
  return [...packing, ...filled];
}
