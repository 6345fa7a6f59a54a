import { expect, test } from 'vitest';
import { ALL_RULES, explore, type ModelSize, type Rules } from './protocol-model.ts';

/** Two schedulers want one slot; clocks agree and jobs show at once. */
const SMALL: ModelSize = {
  schedulers: 2,
  slots: 1,
  lastTime: 2,
  heldTtl: 1,
  confirmedTtl: 1,
  clocks: { schedulers: [0, 0], sweeper: 0, agent: 0 },
  skew: 0,
  visibility: 0,
  cutsUnderWay: 1,
};

/** The function that accepts for the second scheduler is ahead. */
const AHEAD: ModelSize['clocks'] = { schedulers: [0, 1], sweeper: 0, agent: 1 };

/** With everything that may go wrong, in as few steps as it takes. */
const CASES: readonly (readonly [string, ModelSize])[] = [
  ['clocks agree', SMALL],
  ['jobs end', { ...SMALL, lastTime: 1, jobsEnd: true }],
  ['nodes blink', { ...SMALL, lastTime: 1, nodesBlink: true }],
  ['jobs show late', { ...SMALL, visibility: 1 }],
  ['a function is ahead of the others', { ...SMALL, clocks: AHEAD, skew: 1 }],
];

test.each(CASES)('with all rules nothing is decided twice: %s', { timeout: 120_000 }, (_, size) => {
  const { states, counterExample } = explore(size, ALL_RULES);
  expect(counterExample).toBeUndefined();
  // It did get about.
  expect(states).toBeGreaterThan(1_000);
});

const WITHOUT: readonly (readonly [string, Partial<Rules>, ModelSize])[] = [
  ['reading the ledger before the head', { ledgerFirst: false }, SMALL],
  ['writing on the version that was read', { conditionalWrite: false }, SMALL],
  ['evidence: time alone ends a confirmed claim', { evidence: 'time' }, SMALL],
  ['evidence of a cut: a push that was received late', { evidence: 'received' }, SMALL],
  ['recording ends and judging before a confirmation', { recordEnds: false, judgeConfirm: false }, SMALL],
  ['a confirmation before a start', { startConfirmed: false }, SMALL],
  ['confirmed claims that never break', { neverBreaks: false }, { ...SMALL, lastTime: 0, nodesBlink: true }],
  ['a release that leaves the time as it is', { releaseKeepsTime: false }, { ...SMALL, releases: true }],
];

test.each(WITHOUT)('without %s two jobs run in one slot', { timeout: 120_000 }, (_, left, size) => {
  const { counterExample = [] } = explore(size, { ...ALL_RULES, ...left });
  expect(counterExample).toMatchSnapshot();
  expect(counterExample.at(-1)).toMatch(/starts the job$/);
});
