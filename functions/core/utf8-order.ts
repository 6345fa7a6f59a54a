/**
 * The order of UTF-8 bytes, which is that of code points, for strings. JavaScript's own order
 * is that of UTF-16 units and puts an emoji before U+FFFD; clients in Go, Python and Rust
 * sort by bytes, and the clock's digest must be the same for all of them.
 */
export function compareUtf8(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let at = 0; at < shared; at++) {
    const unitA = a.charCodeAt(at);
    const unitB = b.charCodeAt(at);
    if (unitA !== unitB) return rank(unitA) - rank(unitB);
  }
  return a.length - b.length;
}

/** Moves surrogates, which stand for code points above U+FFFF, behind every other unit. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x1_0000 : unit;
}
