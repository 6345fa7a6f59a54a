/** Names chains and pods of one cluster. */

/** What a chain is called within its cluster. */
export interface ChainName {
  readonly jobId: string;
  readonly rankId: string;
  readonly chainId: string;
}

/** A set of chains, by name. */
export interface ChainKeys {
  has(chain: ChainName): boolean;
}

export const NO_CHAINS: ChainKeys = { has: () => false };

/** Ids hold no control characters (a rule), so this cannot occur in one and the joined name is unambiguous. */
const SEPARATOR = '\u0000';

export function chainKey({ jobId, rankId, chainId }: ChainName): string {
  return jobId + SEPARATOR + rankId + SEPARATOR + chainId;
}

export function podKey(chain: ChainName, podIndex: number): string {
  return chainKey(chain) + SEPARATOR + podIndex;
}

export function chainKeys(chains: Iterable<ChainName>): ChainKeys {
  const keys = new Set<string>();
  for (const chain of chains) keys.add(chainKey(chain));
  return { has: (chain) => keys.has(chainKey(chain)) };
}

/** Names a placement target within its cluster. */
export function targetKey(poolId: string, nodeTypeId: string): string {
  return poolId + SEPARATOR + nodeTypeId;
}
