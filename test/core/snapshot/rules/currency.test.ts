import { codes } from 'currency-codes';
import { expect, it } from 'vitest';
import { isIso4217 } from '../../../../functions/core/snapshot/rules/currency.ts';

it('knows every code that the maintenance agency’s list has', () => {
  expect(codes().filter((code) => !isIso4217(code))).toEqual([]);
  expect(codes().length).toBeGreaterThan(170);
});

it('knows the code that came after that list was taken', () => {
  expect(isIso4217('XCG')).toBe(true);
});

it.each(['BTC', 'ETH', 'USDT', 'ZZZ', 'usd', '', '__proto__', 'AAA'])('does not know %j', (code) => {
  expect(isIso4217(code)).toBe(false);
});
