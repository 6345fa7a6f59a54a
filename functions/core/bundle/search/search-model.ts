/** What a search places, and where. */
import type { Needs } from '../model/needs.ts';
import type { Domain } from '../model/place.ts';
import type { CompiledPool } from '../model/tiers.ts';
import type { Assessment } from './assess.ts';
import type { NodeClass } from './fleet.ts';

export type Copy = 'primary' | 'backup';

/** A group of jobs of one copy, which needs a node. */
export interface Variable {
  readonly copy: Copy;
  /** Its group among those of the bundle. */
  readonly group: number;
  /** The group's needs all together. */
  readonly needs: Needs;
  readonly pool: CompiledPool;
  /** Groups that must stand on other nodes, in the same copy. */
  readonly apart: ReadonlySet<number>;
  /** Variables of one kind are interchangeable. */
  readonly kind: number;
  /** Which classes hold the group when nothing else of the bundle stands there. */
  readonly assessment: Assessment;
  /** Domains in which a node of those classes stands. */
  readonly domains: ReadonlySet<Domain>;
}

/** One node of a class. */
export interface NodePosition {
  readonly class: NodeClass;
  readonly position: number;
}

/** A node on which something of the bundle stands. */
export interface UsedNode extends NodePosition {
  readonly loads: readonly Variable[];
  /** Of all loads together. */
  readonly needs: Needs;
}
