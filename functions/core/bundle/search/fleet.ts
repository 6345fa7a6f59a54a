/**
 * All candidates of one request, with what the request has planned on them so far. Nodes
 * that no job could tell apart stand in one class: a search looks at a class once, however
 * many nodes it has, and takes them in the order of their names. So the plan depends on
 * what the candidates are and not on the order in which they came.
 */

import type { Stepwise } from '../../stepwise.ts';
import { compareUtf8 } from '../../utf8-order.ts';
import { describeNodeType } from '../model/describe.ts';
import { type NodeState, nodeKey } from '../model/node.ts';
import { type Domain, DomainTable, type Place } from '../model/place.ts';
import { type Candidate, nodeState } from './candidates.ts';
import { type NodesOfState, OwedNodes } from './owed-nodes.ts';

/** Which node it is: by id, or a slot of the map. */
export type NodeName =
  | { readonly kind: 'inventory'; readonly nodeId: string }
  | { readonly kind: 'slot'; readonly number: number; readonly freeAccelerators: number };

/** Nodes in one state. */
export interface NodeClass extends NodesOfState {
  /** Of its place; identical for classes in one domain. */
  readonly domain: Domain;
  /** Rank among all classes; the last word where a search has no other preference. */
  readonly order: number;
  /** The node at a position, from 0. */
  nodeAt(position: number): NodeName;
  /** All of its nodes. */
  runs(): readonly Run[];
}

/** Successive nodes: one of an inventory, or slots with successive numbers. */
export interface Run {
  readonly first: NodeName;
  readonly count: number;
}

/** A node as it is after a plan took something from it. */
export interface PlannedNode {
  readonly from: NodeClass;
  readonly position: number;
  readonly state: NodeState;
}

class Class implements NodeClass {
  readonly #runs: Run[] = [];
  /** Of the runs the first that has a node left, and how many of its nodes stand elsewhere now. */
  #head = 0;
  #offset = 0;
  #size = 0;

  constructor(
    readonly state: NodeState,
    readonly domain: Domain,
    readonly order: number,
    readonly owed: OwedNodes | undefined,
  ) {}

  get size(): number {
    return this.#size;
  }

  add(run: Run): void {
    this.#runs.push(run);
    this.#size += run.count;
  }

  /** Gives up its first nodes, which must be as many. */
  takeFirst(count: number): readonly Run[] {
    const taken: Run[] = [];
    for (let left = count; left > 0; ) {
      const run = this.#runs[this.#head];
      if (run === undefined) break;
      const part = Math.min(left, run.count - this.#offset);
      taken.push({ first: later(run.first, this.#offset), count: part });
      left -= part;
      this.#size -= part;
      this.#offset += part;
      if (this.#offset < run.count) continue;
      this.#head++;
      this.#offset = 0;
    }
    return taken;
  }

  runs(): readonly Run[] {
    const [head, ...rest] = this.#runs.slice(this.#head);
    if (head === undefined) return [];
    return [{ first: later(head.first, this.#offset), count: head.count - this.#offset }, ...rest];
  }

  nodeAt(position: number): NodeName {
    let at = this.#offset + position;
    for (let run = this.#head; run < this.#runs.length; run++) {
      const { first, count } = this.#runs[run] as Run;
      if (at < count) return later(first, at);
      at -= count;
    }
    throw new RangeError(`The class has ${this.#size} nodes, and none at ${position}.`);
  }
}

/** The first so many nodes of runs. */
export function firstOf(runs: readonly Run[], count: number): readonly Run[] {
  const first: Run[] = [];
  let left = count;
  for (const run of runs) {
    if (left === 0) break;
    const part = Math.min(left, run.count);
    first.push({ first: run.first, count: part });
    left -= part;
  }
  return first;
}

function later(first: NodeName, by: number): NodeName {
  return first.kind === 'slot' ? { ...first, number: first.number + by } : first;
}

interface KeyedCandidate {
  readonly candidate: Candidate;
  readonly state: NodeState;
  readonly key: string;
  readonly name: NodeName;
}

/** Some milliseconds' worth, with ten devices each. */
const CANDIDATES_PER_TURN = 64;

/** The state of all candidates; changes only when a plan is committed. */
export class Fleet {
  readonly #byKey = new Map<string, Class>();
  readonly #all: Class[] = [];
  readonly #domains = new DomainTable();
  /** By node type. */
  readonly #owed = new Map<string, OwedNodes>();

  /**
   * Candidates that are one node to a reader (same cluster, same id) must have been refused before.
   *
   * @param serviceIds services of which it is to be known where they run
   */
  static *of(candidates: readonly Candidate[], serviceIds: ReadonlySet<string> = new Set()): Stepwise<Fleet> {
    const keyed: KeyedCandidate[] = [];
    for (const candidate of candidates) {
      const state = nodeState(candidate, serviceIds);
      keyed.push({ candidate, state, key: nodeKey(state), name: firstName(candidate) });
      if (keyed.length % CANDIDATES_PER_TURN === 0) yield;
    }
    keyed.sort((a, b) => compareUtf8(a.key, b.key) || compareNames(a.name, b.name));
    yield;
    return new Fleet(keyed);
  }

  /** @param keyed in the order of their keys, and then of their names */
  private constructor(keyed: readonly KeyedCandidate[]) {
    for (const { candidate } of keyed) {
      if (candidate.kind !== 'slots' || candidate.owed === undefined) continue;
      const nodeType = nodeTypeKey(candidate.place);
      if (!this.#owed.has(nodeType))
        this.#owed.set(nodeType, new OwedNodes(candidate.owed, describeNodeType(candidate.place)));
    }
    for (const { candidate, state, key, name } of keyed) {
      this.#class(key, state).add({
        first: name,
        count: candidate.kind === 'slots' ? candidate.count : 1,
      });
    }
  }

  /** Every class by its order, those without a node too. New ones come at the end. */
  get classes(): readonly NodeClass[] {
    return this.#all;
  }

  /**
   * Takes what was planned: for every node its new state. The positions of one class must
   * be its first ones, without a gap.
   */
  commit(planned: readonly PlannedNode[]): void {
    const moves = planned.map(({ from, position, state }) => ({ from, state, name: from.nodeAt(position) }));
    for (const { from } of moves) {
      if (from instanceof Class) from.takeFirst(1);
    }
    for (const { state, name } of moves) {
      this.#class(nodeKey(state), state).add({ first: name, count: 1 });
    }
  }

  /** Gives the first nodes of a class another state. */
  move(from: NodeClass, count: number, state: NodeState): void {
    const runs = from instanceof Class ? from.takeFirst(count) : [];
    const to = this.#class(nodeKey(state), state);
    for (const run of runs) to.add(run);
  }

  #class(key: string, state: NodeState): Class {
    let found = this.#byKey.get(key);
    if (found === undefined) {
      const owed = this.#owed.get(nodeTypeKey(state.place));
      found = new Class(state, this.#domains.of(state.place), this.#byKey.size, owed);
      owed?.add(found);
      this.#byKey.set(key, found);
      this.#all.push(found);
    }
    return found;
  }
}

function nodeTypeKey({ clusterId, poolId, nodeTypeId }: Place): string {
  return JSON.stringify([clusterId, poolId, nodeTypeId]);
}

function firstName(candidate: Candidate): NodeName {
  return candidate.kind === 'inventory'
    ? { kind: 'inventory', nodeId: candidate.nodeId }
    : { kind: 'slot', number: candidate.firstSlot, freeAccelerators: candidate.freeAccelerators };
}

function compareNames(a: NodeName, b: NodeName): number {
  if (a.kind === 'inventory' && b.kind === 'inventory') return compareUtf8(a.nodeId, b.nodeId);
  if (a.kind === 'slot' && b.kind === 'slot') return a.number - b.number;
  return a.kind === 'inventory' ? -1 : 1;
}
