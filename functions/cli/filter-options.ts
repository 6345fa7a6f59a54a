/** The filters of the map as options; each can be given several times, for alternatives. */
import type { Command } from 'commander';
import type { MapFilter } from '../globalmap/filter.ts';

export interface FilterOptions {
  readonly cluster: readonly string[];
  readonly provider: readonly string[];
  readonly region: readonly string[];
  readonly site: readonly string[];
  readonly acceleratorModel: readonly string[];
}

const append = (value: string, before: readonly string[]): readonly string[] => [...before, value];

export function withFilterOptions(command: Command): Command {
  return command
    .option('--cluster <id>', 'only this cluster (repeatable)', append, [])
    .option('--provider <name>', 'only clusters of this provider (repeatable)', append, [])
    .option('--region <name>', 'only clusters in this region (repeatable)', append, [])
    .option('--site <name>', 'only clusters at this site (repeatable)', append, [])
    .option('--accelerator-model <name>', 'only clusters that have this model (repeatable)', append, []);
}

export function filterOf({ cluster, provider, region, site, acceleratorModel }: FilterOptions): MapFilter {
  return { cluster, provider, region, site, acceleratorModel };
}
