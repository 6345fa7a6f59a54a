/** Hundreds of seeds in CI, as many as one likes by hand: `BUNDLES_SEEDS` and `BUNDLES_FIRST` choose which. */
import { expect, test } from 'vitest';
import { simulate } from './simulate.ts';

const FIRST = Number(process.env.BUNDLES_FIRST ?? 1);
const SEEDS = Number(process.env.BUNDLES_SEEDS ?? 400);
const PARTS = 4;

test.for(Array.from({ length: PARTS }, (_, part) => part))(
  'bundles of a simulated world are placed, kept, and ended: part %i',
  { timeout: 600_000 },
  async (part) => {
    const met = { kills: 0, lost: 0, refusals: 0, conflicts: 0, placed: 0, moved: 0 };
    const each = Math.ceil(SEEDS / PARTS);
    for (let seed = FIRST + part * each; seed < FIRST + (part + 1) * each; seed++) {
      const run = await simulate(seed);
      expect(run.violations).toEqual([]);
      met.kills += run.met.kills;
      met.lost += run.met.lost;
      met.refusals += run.met.refusals;
      met.conflicts += run.met.conflicts;
      met.placed += run.met.placed;
    }
    // A world in which nothing happens shows nothing.
    for (const what of ['kills', 'lost', 'conflicts', 'placed'] as const) {
      expect(met[what], what).toBeGreaterThan(each / 20);
    }
  },
);
