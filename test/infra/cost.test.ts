import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { costDocument } from '../../infra/cost/document.ts';
import { HABITS, monthlyBill, naiveBill, PARTS, PRICES, total, type Units } from '../../infra/cost/model.ts';
import { engines, freshStore } from '../engines/store.ts';
import { measureUnits, SAMPLE } from './measure-units.ts';

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
const recorded: Units = JSON.parse(read('infra/cost/units.json'));
const local = engines.find((engine) => engine.name === 'DynamoDB Local');

describe('the cost model', () => {
  test.skipIf(local === undefined)('is made of what is measured now', async () => {
    if (local === undefined) return;
    const { cpuMs: _ofOneMachine, ...units } = recorded;
    expect(await measureUnits(await freshStore(local))).toEqual(units);
  });

  test('is what docs/cost.md says; npm run cost writes it', () => {
    expect(read('docs/cost.md')).toBe(costDocument(recorded, SAMPLE));
  });

  test('multiplies what is counted by its price', () => {
    const bill = monthlyBill(1_000, recorded);
    const pushes = 1_000 * 6 * 60 * 24 * 30;
    expect(bill['DynamoDB writes']).toBeCloseTo(
      pushes *
        PRICES.writeUnit *
        (HABITS.changedShare * recorded.changed.write + (1 - HABITS.changedShare) * recorded.refreshed.write),
      6,
    );
    expect(bill.Events).toBeCloseTo(pushes * HABITS.changedShare * 1e-6, 6);
    expect(total(bill)).toBeCloseTo(
      PARTS.reduce((sum, part) => sum + bill[part], 0),
      6,
    );
  });

  test.each([10, 100, 1_000, 10_000])('is below the naive design for %i clusters', (clusters) => {
    expect(total(monthlyBill(clusters, recorded))).toBeLessThan(total(naiveBill(clusters, recorded)));
  });
});
