import { afterEach, beforeEach, vi } from 'vitest';

/** Makes every random wait of the tests of a file 0: the SDK's, the service's and the client's, which are all a random part of a bound. */
export function withoutRandomWaits(): void {
  beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0));
  afterEach(() => void vi.mocked(Math.random).mockRestore());
}
