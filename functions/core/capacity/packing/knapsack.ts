/** What one bin can hold: the fullest selection, and the one of most value. */

/** One kind of thing that may go into a knapsack, at most `count` of it. */
export interface KnapsackItem {
  readonly size: number;
  readonly count: number;
}

/** Beyond this room the tables below would cost more than they bring; no node has as many accelerators. */
export const MAX_TABLE_ROOM = 4_096;

/**
 * For a room, the most of it that a selection of the items fills. A node with 7 free
 * has 6 for pods of 3: counted as 7 it would hide that a demand cannot fit.
 * Rooms above {@link MAX_TABLE_ROOM} come back as they are, which is never too small.
 */
export function fillableRooms(items: readonly KnapsackItem[]): (room: number) => number {
  // reachable[r]: 1 if a selection fills exactly r. The table grows with the rooms that are asked for.
  let reachable = new Uint8Array(1).fill(1);
  return (room) => {
    if (room > MAX_TABLE_ROOM) return room;
    if (room >= reachable.length) reachable = reachableSums(items, Math.max(room, 2 * reachable.length));
    let filled = room;
    while (reachable[filled] !== 1) filled--;
    return filled;
  };
}

function reachableSums(items: readonly KnapsackItem[], upTo: number): Uint8Array<ArrayBuffer> {
  const reachable = new Uint8Array(upTo + 1);
  reachable[0] = 1;
  const copies = new Float64Array(upTo + 1);
  for (const { size, count } of items) {
    if (size > upTo) continue;
    copies.fill(0);
    for (let sum = size; sum <= upTo; sum++) {
      const spent = copies[sum - size] ?? 0;
      if (reachable[sum] === 1 || reachable[sum - size] !== 1 || spent >= count) continue;
      reachable[sum] = 1;
      copies[sum] = spent + 1;
    }
  }
  return reachable;
}

/** The best selection for every room up to a largest one. */
export interface KnapsackTable {
  /** Highest value that fits in the room. */
  value(room: number): number;
  /** How many of each item such a selection takes. */
  selection(room: number): readonly number[];
}

/**
 * Bounded knapsack by dynamic programming over the room: O(items × room × copies). Exact
 * where values are integers and sums stay below 2^53.
 */
export function knapsack(
  items: readonly KnapsackItem[],
  values: readonly number[],
  largest: number,
): KnapsackTable {
  const width = largest + 1;
  let best = new Float64Array(width);
  const taken = items.map(({ size, count }, index) => {
    const value = values[index] ?? 0;
    const copies = new Uint32Array(width);
    if (value <= 0) return copies;
    const next = best.slice();
    for (let room = size; room < width; room++) {
      const most = Math.min(count, Math.floor(room / size));
      for (let copy = 1; copy <= most; copy++) {
        const sum = (best[room - copy * size] ?? 0) + copy * value;
        if (sum > (next[room] ?? 0)) {
          next[room] = sum;
          copies[room] = copy;
        }
      }
    }
    best = next;
    return copies;
  });
  return {
    value: (room) => best[room] ?? 0,
    selection(room) {
      const counts = new Array<number>(items.length).fill(0);
      let left = room;
      for (let index = items.length - 1; index >= 0; index--) {
        const copies = taken[index]?.[left] ?? 0;
        counts[index] = copies;
        left -= copies * (items[index]?.size ?? 0);
      }
      return counts;
    },
  };
}
