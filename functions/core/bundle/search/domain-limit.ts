/**
 * Rules out domains for a primary whose backup must share little with it. What a backup
 * shares depends on the domains that the primary stands in and only grows with them, so a
 * set of domains that leaves the backup nothing within the limit rules out every larger
 * set, whichever nodes are taken.
 */
import type { Domain } from '../model/place.ts';
import type { CompiledPool } from '../model/tiers.ts';
import type { WorkBudget } from '../work.ts';
import type { UsedNode, Variable } from './search-model.ts';
import { costOfDomain, costOfPair, type Forbidden } from './sharing-cost.ts';

/** Comparisons of two domains, or looks at a number, that a step of the budget buys. */
const COMPARED_PER_STEP = 64;

/** Groups of the backup that can stand in the same domains, as indexes into all of them. */
interface Backups {
  readonly domains: readonly number[];
  readonly groups: number;
}

/** What each domain counts for a backup there, by rule, with a primary in certain domains. */
interface Costs {
  readonly az: Uint8Array;
  readonly cloud: Uint8Array;
}

export class DomainLimit {
  /** All domains in which some node holds a group of the backup. */
  readonly #domains: readonly Domain[];
  readonly #backups: readonly Backups[];
  /** All groups of the backup have one pool. */
  readonly #pool: CompiledPool | undefined;
  readonly #ruledOut: ReadonlySet<Domain>[] = [];
  readonly #ids = new Map<Domain, number>();
  readonly #responses = new Map<string, boolean>();
  /** Of the primary that was asked about last, which is mostly asked about again. */
  #latest: { readonly primary: ReadonlySet<Domain>; readonly costs: Costs } | undefined;

  constructor(
    variables: readonly Variable[],
    private readonly forbid: Forbidden,
    private readonly maxSharing: number,
    private readonly budget: WorkBudget,
  ) {
    const backups = variables.filter((v) => v.copy === 'backup');
    this.#domains = [...new Set(backups.flatMap((v) => [...v.domains]))];
    this.#backups = alike(backups, this.#domains);
    this.#pool = backups[0]?.pool;
  }

  /** How often it has learned something. */
  get lessons(): number {
    return this.#ruledOut.length;
  }

  /**
   * Whether the primary, which stands in `domains`, must not take a node in `next` as well.
   *
   * @throws WorkExhaustedError
   */
  forbids(domains: ReadonlySet<Domain>, next: Domain): boolean {
    const all = domains.has(next) ? domains : new Set([...domains, next]);
    this.#spend(this.#ruledOut.length + all.size);
    for (const set of this.#ruledOut) if (isSubset(set, all)) return true;
    const key = [...all]
      .map((domain) => this.#idOf(domain))
      .sort((a, b) => a - b)
      .join();
    let response = this.#responses.get(key);
    if (response === undefined) {
      response = this.#leastSharing(domains, next) > this.maxSharing;
      this.#responses.set(key, response);
    }
    return response;
  }

  /**
   * Notes that the backup found no place with a primary in these domains, unless that may
   * be for the nodes that the primary took from it.
   *
   * @throws WorkExhaustedError
   */
  add(domains: ReadonlySet<Domain>, touched: readonly UsedNode[]): void {
    this.#spend(touched.length * domains.size);
    const isContested = ({ class: { domain, state } }: UsedNode): boolean =>
      this.#pool?.tierOf(state.place) !== undefined &&
      costOfDomain(domain, domains, this.forbid) <= this.maxSharing;
    if (!touched.some(isContested)) this.#ruledOut.push(domains);
  }

  /** A bound from below: every group of the backup in the domain that is best for it alone. */
  #leastSharing(primary: ReadonlySet<Domain>, next: Domain): number {
    const { az, cloud } = this.#costsOf(primary);
    this.#spend(this.#domains.length);
    const costs = this.#domains.map((domain, i) => {
      const added = costOfPair(domain, next, this.forbid);
      return Math.max(az[i] ?? 0, added.az) + Math.max(cloud[i] ?? 0, added.cloud);
    });
    let sum = 0;
    for (const { domains, groups } of this.#backups) {
      let least = Number.POSITIVE_INFINITY;
      let looked = 0;
      for (const index of domains) {
        looked++;
        least = Math.min(least, costs[index] ?? 0);
        if (least === 0) break;
      }
      this.#spend(looked);
      sum += least * groups;
    }
    return sum;
  }

  #costsOf(primary: ReadonlySet<Domain>): Costs {
    if (this.#latest?.primary === primary) return this.#latest.costs;
    this.#spend(this.#domains.length * primary.size);
    const az = new Uint8Array(this.#domains.length);
    const cloud = new Uint8Array(this.#domains.length);
    for (const [i, domain] of this.#domains.entries()) {
      for (const other of primary) {
        const cost = costOfPair(domain, other, this.forbid);
        az[i] = Math.max(az[i] ?? 0, cost.az);
        cloud[i] = Math.max(cloud[i] ?? 0, cost.cloud);
      }
    }
    const costs = { az, cloud };
    this.#latest = { primary, costs };
    return costs;
  }

  #spend(compared: number): void {
    this.budget.spend(Math.ceil(compared / COMPARED_PER_STEP));
  }

  #idOf(domain: Domain): number {
    let id = this.#ids.get(domain);
    if (id === undefined) {
      id = this.#ids.size;
      this.#ids.set(domain, id);
    }
    return id;
  }
}

function alike(backups: readonly Variable[], all: readonly Domain[]): readonly Backups[] {
  const indexes = new Map(all.map((domain, index) => [domain, index]));
  const byDomains = new Map<string, { domains: readonly number[]; groups: number }>();
  for (const backup of backups) {
    const domains = [...backup.domains].map((domain) => indexes.get(domain) ?? -1).sort((a, b) => a - b);
    const key = domains.join();
    const same = byDomains.get(key);
    if (same === undefined) byDomains.set(key, { domains, groups: 1 });
    else same.groups++;
  }
  return [...byDomains.values()];
}

function isSubset(part: ReadonlySet<Domain>, whole: ReadonlySet<Domain>): boolean {
  for (const domain of part) if (!whole.has(domain)) return false;
  return true;
}
