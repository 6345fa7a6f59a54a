/** Devices against brute force, on cases that a planner's nodes seldom have: many shares, mixed models. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Amount, NOTHING } from '../../../../functions/core/bundle/model/amounts.ts';
import {
  assignDevices,
  type Device,
  type DeviceNeed,
} from '../../../../functions/core/bundle/model/devices.ts';
import { WorkBudget, WorkExhaustedError } from '../../../../functions/core/bundle/work.ts';

const device = fc.record({
  model: fc.constantFrom('A', 'B', ''),
  total: fc.constantFrom(1, 1, 0.5).map(Amount.of),
  reserved: fc.constantFrom(0, 0, 0.25).map(Amount.of),
  shared: fc.constantFrom(false, false, true),
  exclusive: fc.constantFrom(false, false, false, true),
});
const share = fc.record({
  kind: fc.constant('share' as const),
  amount: fc.integer({ min: 0, max: 8 }).map((n) => Amount.of(n / 8)),
  model: fc.constantFrom('', '', 'A'),
});
const whole = fc.record({
  kind: fc.constant('whole' as const),
  count: fc.integer({ min: 1, max: 2 }),
  atLeast: fc.constantFrom(0, 0, 0.75).map(Amount.of),
  model: fc.constantFrom('', 'B'),
});
const devices = fc
  .array(device, { maxLength: 4 })
  .map((all) => all.map((d, index): Device => ({ index: index * 2, ...d })));
const needs = fc
  .array(fc.oneof({ weight: 3, arbitrary: share }, { weight: 1, arbitrary: whole }), { maxLength: 6 })
  .map((all): readonly DeviceNeed[] => all.map((need, job) => ({ job, ...need })));

/** Tries every device for every need. */
function exists(all: readonly Device[], asked: readonly DeviceNeed[]): boolean {
  const units = asked.flatMap((need): readonly DeviceNeed[] =>
    need.kind === 'whole' ? Array.from({ length: need.count }, () => need) : [need],
  );
  const from = (i: number, state: readonly { left: number; idle: boolean }[]): boolean => {
    const need = units[i];
    if (need === undefined) return true;
    return state.some(({ left, idle }, d) => {
      const at = all[d] as Device;
      if (at.exclusive || (need.model !== '' && need.model !== at.model)) return false;
      const after =
        need.kind === 'whole' ? { left: -1, idle: false } : { left: left - need.amount.value, idle: false };
      if (
        need.kind === 'whole'
          ? !idle || (at.total?.value ?? 0) < need.atLeast.value
          : left < need.amount.value
      )
        return false;
      // A share of nothing leaves a device idle.
      const next = need.kind === 'share' && !need.amount.isPositive ? { left, idle } : after;
      return from(
        i + 1,
        state.map((s, n) => (n === d ? next : s)),
      );
    });
  };
  // Whole ones first and in any order: what a share of nothing leaves open must not depend on order.
  units.sort((a, b) => (a.kind === b.kind ? 0 : a.kind === 'whole' ? -1 : 1));
  return from(
    0,
    all.map((d) => ({
      left: (d.total?.value ?? 0) - d.reserved.value,
      idle: !d.reserved.isPositive && !d.shared && !d.exclusive,
    })),
  );
}

it('finds an assignment if and only if there is one, and gives each device as it may be given', () => {
  fc.assert(
    fc.property(devices, needs, (all, asked) => {
      const found = assignDevices(all, asked, new WorkBudget(1_000_000));
      expect(found !== undefined).toBe(exists(all, asked));
      if (found === undefined) return;
      const taken = new Map(all.map((d) => [d.index, d.reserved.value]));
      const whole = new Set<number>();
      for (const need of asked) {
        const indexes = found.get(need.job) ?? [];
        expect(new Set(indexes).size).toBe(need.kind === 'whole' ? need.count : 1);
        expect(indexes).toEqual([...indexes].sort((a, b) => a - b));
        for (const index of indexes) {
          const at = all.find((d) => d.index === index) as Device;
          expect(at.exclusive).toBe(false);
          if (need.model !== '') expect(at.model).toBe(need.model);
          if (need.kind === 'whole') {
            expect(at.shared).toBe(false);
            expect(taken.get(index)).toBe(0);
            expect(whole.has(index)).toBe(false);
            expect(at.total?.value).toBeGreaterThanOrEqual(need.atLeast.value);
            whole.add(index);
          } else {
            taken.set(index, (taken.get(index) ?? 0) + need.amount.value);
            expect(taken.get(index)).toBeLessThanOrEqual(at.total?.value ?? 0);
          }
        }
      }
    }),
    { numRuns: 2_000 },
  );
});

it('packs what first-fit-decreasing does not', () => {
  const bins = [7, 5].map(
    (left, index): Device => ({
      index,
      model: '',
      total: Amount.of(left / 8),
      reserved: NOTHING,
      shared: false,
      exclusive: false,
    }),
  );
  const items = [3, 5, 3, 1].map(
    (n, job): DeviceNeed => ({ kind: 'share', job, amount: Amount.of(n / 8), model: '' }),
  );
  const found = assignDevices(bins, items, new WorkBudget(1_000));
  expect(found === undefined ? undefined : Object.fromEntries(found)).toEqual({
    0: [0],
    1: [1],
    2: [0],
    3: [0],
  });
});

it('shows quickly that many equal shares do not fit, since equal devices are one choice', () => {
  const bins = Array.from(
    { length: 16 },
    (_, index): Device => ({
      index,
      model: '',
      total: Amount.of(1),
      reserved: NOTHING,
      shared: false,
      exclusive: false,
    }),
  );
  const items = Array.from(
    { length: 17 },
    (_, job): DeviceNeed => ({ kind: 'share', job, amount: Amount.of(0.6), model: '' }),
  );
  const budget = new WorkBudget(10_000);
  expect(assignDevices(bins, items, budget)).toBeUndefined();
  expect(budget.spent).toBeLessThan(1_000);
});

it('ends at its bound, by a throw and not by a no', () => {
  const bins = Array.from(
    { length: 8 },
    (_, index): Device => ({
      index,
      model: '',
      total: Amount.of(1 + index / 100),
      reserved: NOTHING,
      shared: false,
      exclusive: false,
    }),
  );
  const items = Array.from(
    { length: 17 },
    (_, job): DeviceNeed => ({
      kind: 'share',
      job,
      amount: Amount.of(0.36 + job / 1_000),
      model: '',
    }),
  );
  expect(() => assignDevices(bins, items, new WorkBudget(200))).toThrow(WorkExhaustedError);
});

it('a search among devices that all differ ends at its bound, and keeps little of what it saw', () => {
  // Every state is a new one: sixteen different shares that do not fit on five different devices,
  // beside two hundred that can take none.
  const able = Array.from({ length: 5 }, (_, index) => ({
    index,
    total: Amount.of(1 + index * 0.0001),
    exclusive: false,
  }));
  const taken = Array.from({ length: 200 }, (_, i) => ({
    index: 5 + i,
    total: Amount.of(1),
    exclusive: true,
  }));
  const all = [...able, ...taken].map(
    (device): Device => ({ ...device, model: 'm'.repeat(253), reserved: NOTHING, shared: false }),
  );
  const asked = Array.from(
    { length: 16 },
    (_, job): DeviceNeed => ({ kind: 'share', job, amount: Amount.of(0.27 + 0.0013 * job), model: '' }),
  );
  const before = process.memoryUsage.rss();
  expect(() => assignDevices(all, asked, new WorkBudget(2_000_000))).toThrow(WorkExhaustedError);
  expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1024 * 1024);
});
