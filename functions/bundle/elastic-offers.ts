/** Which instance types of a pool's elastic tiers would hold a job that no node holds now. */
import type { InstanceCatalogue } from './catalogue.ts';
import type { Needs } from './needs.ts';
import type { NodeState } from './node.ts';
import { emptyNode, mayHold } from './profile.ts';
import { type CompiledPool, elasticProfiles } from './tiers.ts';

/** An instance type that can be had on demand. */
export interface ElasticOffer {
  readonly tier: number;
  readonly tierName: string;
  readonly instanceType: string;
}

export class ElasticOffers {
  readonly #nodes = new Map<CompiledPool, readonly (readonly [ElasticOffer, NodeState])[]>();

  constructor(private readonly catalogue: InstanceCatalogue) {}

  /** Those of which a new node may hold the needs, in the order of the tiers. */
  thatHold(pool: CompiledPool, needs: Needs): readonly ElasticOffer[] {
    return this.#of(pool).flatMap(([offer, node]) => (mayHold(node, needs) ? [offer] : []));
  }

  #of(pool: CompiledPool): readonly (readonly [ElasticOffer, NodeState])[] {
    let nodes = this.#nodes.get(pool);
    if (nodes === undefined) {
      nodes = elasticProfiles(pool, this.catalogue).map(({ tier, instanceType, profile }) => [
        { tier, tierName: pool.tiers[tier]?.tierName ?? '', instanceType },
        emptyNode(profile),
      ]);
      this.#nodes.set(pool, nodes);
    }
    return nodes;
  }
}
