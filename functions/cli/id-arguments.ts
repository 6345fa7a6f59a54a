/** Ids as arguments. What no URL could carry would be asked of another path, whose answer blames the URL. */
import { clusterIdFault } from '../core/snapshot/rules/ids.ts';
import { UsageError } from './failure.ts';

/** For commander. @throws UsageError for what cannot be the id of a cluster */
export function parseClusterId(value: string): string {
  const fault = clusterIdFault(value);
  if (fault === undefined) return value;
  throw new UsageError(`The cluster id ${fault}.`);
}

/** For commander. @param what such as "pool name" @throws UsageError for free in quotes */
export function parseNonEmpty(what: string): (value: string) => string {
  return (value) => {
    if (value !== '') return value;
    throw new UsageError(`The ${what} is empty.`);
  };
}
