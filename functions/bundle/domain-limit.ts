/**
 * Rules out domains for a primary whose backup must share little with it. What a backup
 * shares depends on the domains that the primary stands in and only grows with them, so a
 * set of domains that leaves the backup nothing within the limit rules out every larger
 * set, whichever nodes are taken.
 */
import type { Domain } from './place.ts';
import type { TouchedNode, Variable } from './search.ts';
import { costOfDomain, type Forbidden } from './sharing-cost.ts';
import type { CompiledPool } from './tiers.ts';

export class DomainLimit {
  /** For every group of the backup the domains in which some node holds it. */
  readonly #backups: readonly (readonly Domain[])[];
  /** All groups of the backup have one pool. */
  readonly #pool: CompiledPool | undefined;
  readonly #ruledOut: ReadonlySet<Domain>[] = [];
  readonly #ids = new Map<Domain, number>();
  readonly #answers = new Map<string, boolean>();

  constructor(
    variables: readonly Variable[],
    private readonly forbid: Forbidden,
    private readonly maxSharing: number,
  ) {
    const backups = variables.filter((v) => v.copy === 'backup');
    this.#backups = backups.map((v) => [...v.domains]);
    this.#pool = backups[0]?.pool;
  }

  /** How often it has learned something. */
  get lessons(): number {
    return this.#ruledOut.length;
  }

  /** Whether the primary, which stands in `domains`, must not take a node in `next` as well. */
  forbids(domains: ReadonlySet<Domain>, next: Domain): boolean {
    const all = domains.has(next) ? domains : new Set([...domains, next]);
    for (const set of this.#ruledOut) if (isSubset(set, all)) return true;
    const key = [...all]
      .map((domain) => this.#idOf(domain))
      .sort((a, b) => a - b)
      .join();
    let answer = this.#answers.get(key);
    if (answer === undefined) {
      answer = this.#leastSharing(all) > this.maxSharing;
      this.#answers.set(key, answer);
    }
    return answer;
  }

  /**
   * Notes that the backup found no place with a primary in these domains, unless that may
   * be for the nodes that the primary took from it.
   */
  ruleOut(domains: ReadonlySet<Domain>, touched: readonly TouchedNode[]): void {
    const isContested = ({ class: { domain, state } }: TouchedNode): boolean =>
      this.#pool?.tierOf(state.place) !== undefined &&
      costOfDomain(domain, domains, this.forbid) <= this.maxSharing;
    if (!touched.some(isContested)) this.#ruledOut.push(domains);
  }

  /** A bound from below: every group of the backup in the domain that is best for it alone. */
  #leastSharing(primary: ReadonlySet<Domain>): number {
    return this.#backups.reduce(
      (sum, domains) =>
        sum +
        domains.reduce(
          (least, domain) => Math.min(least, costOfDomain(domain, primary, this.forbid)),
          Number.POSITIVE_INFINITY,
        ),
      0,
    );
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

function isSubset(part: ReadonlySet<Domain>, whole: ReadonlySet<Domain>): boolean {
  for (const domain of part) if (!whole.has(domain)) return false;
  return true;
}
