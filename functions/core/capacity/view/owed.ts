/**
 * What of a target comes before anything that is newly placed on it: so many pods, pinned to no
 * node. Fit and plan both place behind the same owed pods, so that one never says yes to room
 * that the other refuses.
 */
import type { Verdict } from '../monotone.ts';
import type { Work } from '../packing/work.ts';
import { EMPTY, type Histogram, plus } from './histogram.ts';
import { packPods, responseOf } from './served-demand.ts';
import type { TargetView } from './view.ts';

/** Pods that have their place on a target's nodes before anything new. */
export interface Owed {
  /** Accelerators of a pod: number of such pods. */
  readonly pods: Histogram;
  /**
   * It is undecided how much of the demand can be served; then all of it is among the pods. A yes
   * behind them is a yes, and a no is undecided.
   */
  readonly undecided: boolean;
  /** Whether claims are among the pods, beside demand. */
  readonly claimed: boolean;
}

export const NOTHING_OWED: Owed = { pods: EMPTY, undecided: false, claimed: false };

/** The target's demand, as far as its nodes can serve it, and `taken`: further pods that come before, those of claims. */
export function owedOn({ demand, served }: TargetView, taken: Histogram = EMPTY): Owed {
  const { pending, reserved } = served.undecided ? demand : served;
  return {
    pods: plus(plus(pending, reserved), taken),
    undecided: served.undecided,
    claimed: taken.size > 0,
  };
}

/**
 * Remaining capacity behind demand: whether nodes with so much free still hold all that is owed.
 *
 * @param freeNodes free accelerators on a node: number of such nodes, once what is asked about stands on them
 */
export function holdsOwed(freeNodes: Histogram, { pods, undecided }: Owed, work: Work): Verdict {
  const verdict = responseOf(packPods(freeNodes, pods, work));
  return verdict === 'no' && undecided ? 'undecided' : verdict;
}
