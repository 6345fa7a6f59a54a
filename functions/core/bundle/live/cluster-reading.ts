/** From what is read of each cluster to what the reconciler knows of it. */
import type { Ledger } from '../../../gen/resourcemap/v1/ledger_pb.ts';
import type { ClusterResourceMap } from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import { clusterView } from '../../capacity/view/view.ts';
import { chainFactsOf } from '../../claims/chain-facts.ts';
import { claimIdOf } from '../../claims/claim-id.ts';
import {
  blockingPods,
  type ClaimContent,
  type ClaimHead,
  type ClaimSettings,
  type Evaluation,
  evaluate,
  isLive,
} from '../../claims/evaluate.ts';
import { type ClusterNodes, clusterNodes, nodesBehindClaims } from '../plan/map-nodes.ts';
import { type JobStates, jobStatesOf } from './job-states.ts';
import type { ClaimFact, ClusterFact } from './world.ts';

/** What follows from a snapshot alone. */
export interface BundleContent extends ClaimContent {
  readonly nodes: ClusterNodes;
  readonly jobs: JobStates;
}

export function bundleContentOf(snapshot: ClusterResourceMap): BundleContent {
  return {
    view: clusterView(snapshot),
    facts: chainFactsOf(snapshot),
    nodes: clusterNodes(snapshot),
    jobs: jobStatesOf(snapshot),
  };
}

/** One cluster: the ledger is read before the head, and the content is the one that the head names. */
export interface ClusterReading {
  readonly clusterId: string;
  readonly standing: ClusterFact['standing'];
  readonly head: ClaimHead | undefined;
  /** Absent: it is not in the map, or cannot be read. */
  readonly content: BundleContent | undefined;
  readonly ledger: Ledger;
}

export interface KnownCluster {
  readonly fact: ClusterFact;
  /** Behind demand and claims. Absent: nothing is known to be free there. */
  readonly nodes: ClusterNodes | undefined;
}

export function knownCluster(
  { standing, head, content, ledger }: ClusterReading,
  nowMs: number,
  settings: ClaimSettings,
): KnownCluster {
  const evaluation = evaluate(ledger.holds, head, content, nowMs, settings);
  const fact: ClusterFact = {
    standing,
    cutMs: head?.collectedAtMs ?? 0,
    jobs: content?.jobs,
    claims: claimFacts(ledger, evaluation),
  };
  if (content === undefined) return { fact, nodes: undefined };
  const view = evaluation.view ?? content.view;
  return { fact, nodes: nodesBehindClaims(content.nodes, view, blockingPods({ ...evaluation, view })) };
}

/** A cluster that was never in the map, or was retired. */
export const UNKNOWN_CLUSTER: ClusterFact = {
  standing: 'gone',
  cutMs: 0,
  jobs: undefined,
  claims: new Map(),
};

function claimFacts({ holds }: Ledger, { claims }: Evaluation): ReadonlyMap<string, ClaimFact> {
  const evaluated = new Map(claims.map((claim) => [claim.hold.fence, claim]));
  return new Map(
    holds.map((hold): [string, ClaimFact] => {
      const end = isLive(hold) ? evaluated.get(hold.fence)?.end : hold;
      return [
        claimIdOf(hold.id).text,
        {
          state: end?.state ?? hold.state,
          ended: end !== undefined,
          reason: end?.reason ?? hold.reason,
          releasing: hold.releasedAtMs > 0,
        },
      ];
    }),
  );
}
