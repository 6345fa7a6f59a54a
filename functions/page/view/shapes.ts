/** A shape for each state: none is shown by its colour alone. */
import type { Condition } from '../model/clusters.ts';

export const SHAPES: Readonly<Record<Condition, string>> = {
  included: '●',
  stale: '◐',
  warned: '▲',
  refused: '✕',
  out: '○',
};
