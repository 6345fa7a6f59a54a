import { expect, it } from 'vitest';
import { quote } from '../../functions/core/quote.ts';

it.each([
  ['plain', '"plain"'],
  ['', '""'],
  ['"\\', '"\\"\\\\"'],
  ['é😀', '"é😀"'],
  ['a\nb\u0000\u001b', '"a\\nb\\u0000\\u001b"'],
  // Where JSON stops and a terminal does not.
  ['\u007f\u009b\u2028\u202e\u2066\ufeff', '"\\u007f\\u009b\\u2028\\u202e\\u2066\\ufeff"'],
  ['\ud800', '"\\ud800"'],
  ['x'.repeat(128), `"${'x'.repeat(128)}"`],
  ['x'.repeat(129), `"${'x'.repeat(128)}"… (129 characters)`],
  // Cut through the middle of a pair.
  [`${'x'.repeat(127)}😀`, `"${'x'.repeat(127)}\\ud83d"… (129 characters)`],
])('quotes %j', (value, quoted) => {
  expect(quote(value)).toBe(quoted);
});
