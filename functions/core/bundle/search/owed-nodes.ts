/**
 * The nodes of one node type of the map, which are owed to pods that come before anything planned:
 * pending pods and reserved chains. The pods are pinned to no node, so a plan may take any node as
 * long as what it leaves free still holds all of them.
 */
import type { Verdict } from '../../capacity/monotone.ts';
import { STEPS_PER_DECISION } from '../../capacity/packing/limits.ts';
import { Work } from '../../capacity/packing/work.ts';
import { count, type Histogram, largestFirst } from '../../capacity/view/histogram.ts';
import { holdsOwed, type Owed } from '../../capacity/view/owed.ts';
import { MAP_ACCELERATOR } from '../model/capabilities.ts';
import { fewestIdleTaken, isIdle } from '../model/devices.ts';
import { MAX_DEVICES, MAX_STEPS_PER_NODE } from '../model/limits.ts';
import { type Needs, together } from '../model/needs.ts';
import type { NodeState } from '../model/node.ts';
import type { WorkBudget } from '../work.ts';

/** What counts here of a class of nodes. */
export interface NodesOfState {
  readonly state: NodeState;
  readonly size: number;
  /** What its node type owes to pods that come first; absent: nothing. */
  readonly owed: OwedNodes | undefined;
}

/** Nodes of a class on which something is placed. */
export interface LoadedNodes {
  readonly class: NodesOfState;
  /** Absent: one. */
  readonly count?: number;
  /** All that is placed on each of them. */
  readonly needs: Needs;
}

/** Steps of packing in the time of a step of planning. */
const PACKING_STEPS_PER_STEP = 10;

/** Verdicts kept for one node type; each is some 200 bytes. */
const MAX_VERDICTS = 10_000;

export class OwedNodes {
  readonly #classes: NodesOfState[] = [];
  readonly #verdicts = new Map<string, Verdict>();

  constructor(
    readonly owed: Owed,
    /** What it is called in a message. */
    readonly nodeType: string,
  ) {}

  /** Adds a class of nodes of the node type. */
  add(nodes: NodesOfState): void {
    this.#classes.push(nodes);
  }

  /**
   * Whether all that is owed still has its place with these nodes loaded. Once it has none, no
   * further load gives it one.
   *
   * @param loaded those of other node types are passed over
   * @throws WorkExhaustedError
   */
  holdsBeside(loaded: Iterable<LoadedNodes>, budget: WorkBudget): Verdict {
    const free = this.#freeNodes(loaded, budget);
    const key = JSON.stringify([...free]);
    let verdict = this.#verdicts.get(key);
    if (verdict === undefined) {
      const work = new Work(STEPS_PER_DECISION);
      verdict = holdsOwed(free, this.owed, work);
      budget.spend(Math.ceil((STEPS_PER_DECISION - work.left) / PACKING_STEPS_PER_STEP));
      if (this.#verdicts.size >= MAX_VERDICTS) this.#verdicts.clear();
      this.#verdicts.set(key, verdict);
    }
    return verdict;
  }

  #freeNodes(loaded: Iterable<LoadedNodes>, budget: WorkBudget): Histogram {
    budget.spend(1);
    const untouched = new Map(this.#classes.map((nodes) => [nodes, nodes.size]));
    const free = new Map<number, number>();
    for (const { class: nodes, count: times = 1, needs } of loaded) {
      const left = untouched.get(nodes);
      if (left === undefined) continue;
      untouched.set(nodes, left - times);
      count(free, freeBeside(nodes.state, needs, budget), times);
    }
    for (const [{ state }, nodes] of untouched) count(free, freeAccelerators(state), nodes);
    free.delete(0);
    return largestFirst(free);
  }
}

/**
 * Whether what the node type owes still has its place with these needs on one more node of a class,
 * or on one of the nodes that are loaded already.
 *
 * @throws WorkExhaustedError
 */
export function verdictBeside<Loaded extends LoadedNodes>(
  loaded: readonly Loaded[],
  { class: nodes, touched }: { readonly class: NodesOfState; readonly touched?: Loaded | undefined },
  needs: Needs,
  budget: WorkBudget,
): Verdict {
  if (nodes.owed === undefined || needs.devices.length === 0) return 'yes';
  const others = loaded.filter((other) => other !== touched && other.class.owed === nodes.owed);
  const all = touched === undefined ? needs : together([touched.needs, needs]);
  return nodes.owed.holdsBeside([...others, { class: nodes, needs: all }], budget);
}

/** Accelerators of a node of the map of which nothing is taken. */
function freeAccelerators({ devices, capabilities }: NodeState): number {
  const idle = devices.reduce((sum, device) => sum + (isIdle(device) ? 1 : 0), 0);
  if (devices.length < MAX_DEVICES) return idle;
  // Not all of them are listed; those that are and have shares on them are not counted as taken.
  const units = capabilities.get(MAP_ACCELERATOR);
  const shared = devices.filter((device) => !device.exclusive && !isIdle(device)).length;
  return units === undefined ? idle : Math.max(0, Math.floor(units.total - units.taken) - shared);
}

function freeBeside(state: NodeState, needs: Needs, budget: WorkBudget): number {
  const free = freeAccelerators(state);
  if (needs.devices.length === 0) return free;
  return free - fewestIdleTaken(state.devices, needs.devices, budget.atMost(MAX_STEPS_PER_NODE));
}
