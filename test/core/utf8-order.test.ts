import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compareUtf8 } from '../../functions/core/utf8-order.ts';

it('orders strings as their UTF-8 bytes are ordered, astral code points included', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'b', 'é', '\ud7ff', '\uffee', '😀', '🙂'),
    maxLength: 4,
  });
  fc.assert(
    fc.property(text, text, (a, b) => {
      const bytes = Buffer.compare(Buffer.from(a), Buffer.from(b));
      expect(Math.sign(compareUtf8(a, b))).toBe(bytes);
    }),
    { numRuns: 2_000 },
  );
});
