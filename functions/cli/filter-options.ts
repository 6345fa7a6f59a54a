/** The filters of the map as options; each can be given several times, for alternatives. */
import { type Command, Option } from 'commander';
import type { MapFilter } from '../core/map/filter.ts';

export interface FilterOptions {
  readonly cluster: readonly string[];
  readonly provider: readonly string[];
  readonly region: readonly string[];
  readonly site: readonly string[];
  readonly acceleratorModel: readonly string[];
}

/**
 * An option that can be given several times, each value being one more.
 * @param none what it means that it is not given at all
 */
export function repeatable(flags: string, description: string, none = 'any'): Option {
  return new Option(flags, `${description} (repeatable)`)
    .argParser((value: string, before: readonly string[]) => [...before, value])
    .default([], none);
}

export function withFilterOptions(command: Command): Command {
  return command
    .addOption(repeatable('--cluster <id>', 'only this cluster'))
    .addOption(repeatable('--provider <name>', 'only clusters of this provider'))
    .addOption(repeatable('--region <name>', 'only clusters in this region'))
    .addOption(repeatable('--site <name>', 'only clusters at this site'))
    .addOption(repeatable('--accelerator-model <name>', 'only clusters that have this model'));
}

export function filterOf({ cluster, provider, region, site, acceleratorModel }: FilterOptions): MapFilter {
  return { cluster, provider, region, site, acceleratorModel };
}
