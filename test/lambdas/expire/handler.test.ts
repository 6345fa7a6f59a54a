import { afterEach, describe, expect, it, vi } from 'vitest';
import { engines, freshStore } from '../../engines/store.ts';
import { push } from './pushing.ts';

const [engine] = engines;
if (engine === undefined) throw new Error('No engine runs.');

describe('The sweeper’s function', () => {
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    vi.resetModules();
  });

  const load = async (environment: Record<string, string>) => {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    return (await import('../../../functions/lambdas/expire/handler.ts')).handler;
  };

  it('is set up from its environment alone, and fails where it could not sweep all', async () => {
    vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const store = await freshStore(engine, 2);
    const environment = {
      DYNAMODB_ENDPOINT: engine.endpoint,
      HEADS_TABLE: store.tables.heads,
      BODIES_TABLE: store.tables.contents,
      HEAD_SHARDS: '2',
      OMIT_AFTER_SECONDS: '60',
      RETIRE_AFTER_SECONDS: '3600',
    };
    await push(store, 'quiet', { counter: 1n, nowMs: Date.now() - 61_000 });
    await push(store, 'loud', { counter: 1n, nowMs: Date.now() });
    const handler = await load(environment);
    expect(await handler()).toMatchObject({
      newlyOmitted: ['quiet'],
      included: 1,
      omitted: 1,
      failedShards: [],
    });

    vi.resetModules();
    const elsewhere = await load({ ...environment, HEADS_TABLE: 'not-there' });
    await expect(elsewhere()).rejects.toThrow(
      '2 shards and 0 clusters were not swept; the log has the causes.',
    );
  });

  it('does not start with settings that would break a guarantee', async () => {
    const environment = {
      HEADS_TABLE: 'h',
      BODIES_TABLE: 'b',
      HEAD_SHARDS: '2',
      OMIT_AFTER_SECONDS: '60',
      RETIRE_AFTER_SECONDS: '600',
    };
    await expect(load(environment)).rejects.toThrow('retireAfter is 600 s; it must be at least 3600 s.');
  });
});
