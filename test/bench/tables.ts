import { DEFAULT_SHARDS, type Tables } from '../../functions/store/tables.ts';

export const BENCH_TABLES: Tables = { heads: 'bench-heads', bodies: 'bench-bodies', shards: DEFAULT_SHARDS };
