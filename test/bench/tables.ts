import { DEFAULT_SHARDS, type Tables } from '../../functions/storage/tables.ts';

export const BENCH_TABLES: Tables = {
  heads: 'bench-heads',
  contents: 'bench-bodies',
  shards: DEFAULT_SHARDS,
};
