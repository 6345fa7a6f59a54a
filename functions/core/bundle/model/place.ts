/** Where a node stands, and what can be said of two nodes standing in one failure domain. */

/** Names as the map or the inventory's sender writes them; empty is unknown. */
export interface Place {
  readonly clusterId: string;
  readonly provider: string;
  readonly region: string;
  readonly zone: string;
  /** Capacity pool of the map. */
  readonly poolId: string;
  readonly nodeTypeId: string;
  readonly instanceType: string;
  /** Models of its accelerators; several on an inventory of mixed devices. */
  readonly acceleratorModels: readonly string[];
}

/** A cloud, region and zone, each once for all places in it, so that two of them are compared by identity. */
export interface Domain {
  readonly provider: string;
  readonly region: string;
  readonly zone: string;
}

/** Gives equal places one domain. */
export class DomainTable {
  readonly #byKey = new Map<string, Domain>();

  of({ provider, region, zone }: Domain): Domain {
    const key = JSON.stringify([provider, region, zone]);
    let domain = this.#byKey.get(key);
    if (domain === undefined) {
      domain = { provider, region, zone };
      this.#byKey.set(key, domain);
    }
    return domain;
  }
}

/** `unknown` where a name is missing that could tell them apart. */
export type SameDomain = 'same' | 'apart' | 'unknown';

/** Whether two nodes stand in one cloud, which is one provider. */
export function sameCloud(a: Domain, b: Domain): SameDomain {
  if (a.provider === '' || b.provider === '') return 'unknown';
  return a.provider === b.provider ? 'same' : 'apart';
}

/**
 * Whether two different nodes stand in one availability zone. A zone's name holds within
 * its provider and region ("a" of one region is not "a" of another), so those take part.
 */
export function sameAz(a: Domain, b: Domain): SameDomain {
  if (sameCloud(a, b) === 'apart' || differ(a.region, b.region)) return 'apart';
  if (a.zone === '' || b.zone === '') return 'unknown';
  if (a.zone !== b.zone) return 'apart';
  return a.provider === b.provider && a.region === b.region ? 'same' : 'unknown';
}

function differ(a: string, b: string): boolean {
  return a !== '' && b !== '' && a !== b;
}
