/** Finds where a question that is true up to some number stops being true, when some answers may be undecided. */

/** An answer that is proven, or was not reached within the bound on work. */
export type Verdict = 'yes' | 'no' | 'undecided';

/** `atLeast` is shown and above `atMost` it is disproven; they are equal where the number is exact. */
export interface Bounds {
  readonly atLeast: number;
  readonly atMost: number;
}

/**
 * The largest n ≤ `upTo` for which `holds(n)`, for a question that is true of 0 (and of
 * `known`) and, once false, stays false. Undecided answers are searched around on both sides.
 */
export function largest(upTo: number, holds: (n: number) => Verdict, known = 0): Bounds {
  let yes = known;
  let no = upTo + 1;
  // The undecided numbers met so far, as an interval; only what lies outside of it is asked next.
  let open: { readonly first: number; readonly last: number } | undefined;
  for (;;) {
    const n = nextToAsk(yes, no, open);
    if (n === undefined) return { atLeast: yes, atMost: no - 1 };
    const response = holds(n);
    if (response === 'undecided') {
      open = { first: Math.min(n, open?.first ?? n), last: Math.max(n, open?.last ?? n) };
      continue;
    }
    if (response === 'yes') yes = n;
    else no = n;
    if (open !== undefined && (open.last < yes || open.first > no)) open = undefined;
  }
}

/**
 * The smallest n ≤ `upTo` for which `holds(n)`, for a question that, once true, stays true.
 * Below `atLeast` it is disproven and at `atMost` it is shown; `upTo + 1` stands for none.
 */
export function smallest(upTo: number, holds: (n: number) => Verdict): Bounds {
  if (holds(0) === 'yes') return { atLeast: 0, atMost: 0 };
  const { atLeast, atMost } = largest(upTo, (n) => opposite(holds(n)));
  return { atLeast: atLeast + 1, atMost: atMost + 1 };
}

function opposite(response: Verdict): Verdict {
  if (response === 'undecided') return response;
  return response === 'yes' ? 'no' : 'yes';
}

function nextToAsk(
  yes: number,
  no: number,
  open: { readonly first: number; readonly last: number } | undefined,
): number | undefined {
  if (open === undefined) return no - yes > 1 ? middle(yes, no) : undefined;
  if (open.first - yes > 1) return middle(yes, open.first);
  return no - open.last > 1 ? middle(open.last, no) : undefined;
}

function middle(low: number, high: number): number {
  return low + Math.floor((high - low) / 2);
}
