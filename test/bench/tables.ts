import { DEFAULT_SHARDS, type Tables } from '../../functions/storage/tables.ts';

export const BENCH_TABLES: Tables = { heads: 'bench-heads', bodies: 'bench-bodies', shards: DEFAULT_SHARDS };
