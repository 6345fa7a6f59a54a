import { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import { preferredWaitSeconds } from '../../functions/http/prefer.ts';

const app = new Hono().get('/', (c) => c.text(String(preferredWaitSeconds(c))));

async function secondsOf(prefer: string | undefined, env?: object): Promise<string> {
  const response = await app.request('/', prefer === undefined ? {} : { headers: { prefer } }, env);
  return response.text();
}

describe('the wait that a client prefers', () => {
  it.each([
    [undefined, '0'],
    ['wait=20', '20'],
    ['Wait = 7', '7'],
    ['wait="5"', '5'],
    ['respond-async, wait=10', '10'],
    ['wait=10;foo=bar, wait=3', '10'],
    ['wait=0', '0'],
    ['wait=-1', '0'],
    ['wait=soon', '0'],
    ['wait=2147483647', '25'],
    ['wait=9999999999', '25'],
    [`wait=${'9'.repeat(400)}`, '25'],
    ['wait=100000', '25'],
    ['await=9', '0'],
  ])('%s is %s seconds', async (prefer, seconds) => {
    expect(await secondsOf(prefer)).toBe(seconds);
  });

  it('is cut to what is left of a Lambda, with time to answer', async () => {
    const lambda = (ms: number) => ({ lambdaContext: { getRemainingTimeInMillis: () => ms } });
    expect(await secondsOf('wait=20', lambda(12_900))).toBe('7');
    expect(await secondsOf('wait=20', lambda(3_000))).toBe('0');
  });
});
