/**
 * What it counts for that a backup's node shares a domain with the primary although the
 * policy forbids it. Costs depend on domains alone, of which there are few, and are
 * worked out once for each set of domains that a primary stands in.
 */
import { type Domain, type SameDomain, sameAz, sameCloud } from '../model/place.ts';

/** Domains that a backup must not share with the primary, if it can be had. */
export interface Forbidden {
  readonly node: boolean;
  readonly az: boolean;
  readonly cloud: boolean;
}

/** How a node of the backup stands to the primary in each domain; what the policy allows counts as `apart`. */
export interface SharedDomains {
  readonly node: SameDomain;
  readonly az: SameDomain;
  readonly cloud: SameDomain;
}

/** Better a domain that may be shared than one that is. */
const COST: Readonly<Record<SameDomain, number>> = { apart: 0, unknown: 1, same: 2 };

/** What a group counts for that stands on a node of the primary. */
export function costOfSameNode(forbidden: Forbidden): number {
  return COST.same * (Number(forbidden.node) + Number(forbidden.az) + Number(forbidden.cloud));
}

/** What a group counts for that stands on a node of its own in `domain`. */
export function costOfDomain(domain: Domain, primary: ReadonlySet<Domain>, { az, cloud }: Forbidden): number {
  return (
    (az ? COST[closest(domain, primary, sameAz)] : 0) +
    (cloud ? COST[closest(domain, primary, sameCloud)] : 0)
  );
}

/** What one domain of the primary counts in each rule. Of several the one counts that counts most. */
export function costOfPair(
  domain: Domain,
  primary: Domain,
  { az, cloud }: Forbidden,
): { readonly az: number; readonly cloud: number } {
  return {
    az: az ? COST[sameAz(domain, primary)] : 0,
    cloud: cloud ? COST[sameCloud(domain, primary)] : 0,
  };
}

/** The same by name, for the answer. */
export function sharedDomains(
  domain: Domain,
  isNodeOfPrimary: boolean,
  primary: ReadonlySet<Domain>,
  { node, az, cloud }: Forbidden,
): SharedDomains {
  const same = (compare: typeof sameAz): SameDomain =>
    isNodeOfPrimary ? 'same' : closest(domain, primary, compare);
  return {
    node: node && isNodeOfPrimary ? 'same' : 'apart',
    az: az ? same(sameAz) : 'apart',
    cloud: cloud ? same(sameCloud) : 'apart',
  };
}

/** `same` if one of the primary's domains is known to be it, else `unknown` if one may be. */
function closest(domain: Domain, primary: ReadonlySet<Domain>, compare: typeof sameAz): SameDomain {
  let found: SameDomain = 'apart';
  for (const other of primary) {
    const same = compare(domain, other);
    if (same === 'same') return 'same';
    if (same === 'unknown') found = 'unknown';
  }
  return found;
}
