/** Which instance types of a pool's elastic tiers would hold a job that no node holds now. */

import type { Stepwise } from '../../stepwise.ts';
import type { InstanceCatalogue } from '../model/catalogue.ts';
import type { Needs } from '../model/needs.ts';
import type { NodeState } from '../model/node.ts';
import { emptyNode, mayHold, profileBudget } from '../model/profile.ts';
import { type CompiledPool, elasticProfiles } from '../model/tiers.ts';

/** An instance type that can be had on demand. */
export interface ElasticOffer {
  readonly tier: number;
  readonly tierName: string;
  readonly instanceType: string;
}

/** Offers told of one job: the first tiers are the ones to be used up first, and each job of an answer has its own. */
const MAX_OFFERS = 16;

/** Answers for one request. */
export class ElasticOffers {
  readonly #budget = profileBudget();
  readonly #nodes = new Map<CompiledPool, readonly (readonly [ElasticOffer, NodeState])[]>();

  constructor(private readonly catalogue: InstanceCatalogue) {}

  /** The first 16 of which a new node may hold the needs, in the order of the tiers. */
  *offersFor(pool: CompiledPool, needs: Needs): Stepwise<readonly ElasticOffer[]> {
    const offers: ElasticOffer[] = [];
    for (const [offer, node] of this.#of(pool)) {
      if (this.#budget.isTurnOver()) yield;
      if (mayHold(node, needs, this.#budget)) offers.push(offer);
      if (offers.length === MAX_OFFERS) break;
    }
    return offers;
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
