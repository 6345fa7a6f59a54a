/** The nodes of all clusters in the map, behind live claims, and which map that was. */
import { createHash } from 'node:crypto';
import { type ClusterNodes, clusterNodes, nodesBehindClaims } from '../../core/bundle/plan/map-nodes.ts';
import { evaluateSituation } from '../../core/claims/change.ts';
import { blockingPods, type Evaluation, isLive } from '../../core/claims/evaluate.ts';
import { clockEtag } from '../../core/map/clock.ts';
import { WHOLE_MAP } from '../../core/map/filter.ts';
import type { WireFormat } from '../../core/snapshot/decode.ts';
import type { ClaimReader } from '../../reading/claim-reader.ts';
import { ContentReader, type HeadView } from '../../reading/content-reader.ts';
import { versionOf } from '../../reading/map-reader.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import type { Store } from '../../storage/commit.ts';
import type { Head } from '../../storage/head.ts';
import type { LedgerStore, StoredLedger } from '../../storage/ledgers.ts';

export interface MapNodes {
  readonly clusters: readonly ClusterNodes[];
  /**
   * That of GET /v1/map in the format, for exactly these clusters at these counters. With live claims it is
   * over them, too, and so another one.
   */
  readonly etag: string;
}

/** Claims that come before what is planned. */
export interface NodeClaims {
  readonly ledgers: LedgerStore;
  readonly reader: ClaimReader;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Times that a cluster is read again because its content moved on while its claims were evaluated. */
const MAX_ATTEMPTS = 4;

export class NodesReader {
  readonly #content: ContentReader<ClusterNodes>;

  constructor(
    store: Store,
    private readonly telemetry: Telemetry,
  ) {
    this.#content = new ContentReader(store, telemetry, clusterNodes, 'bundles');
  }

  /**
   * A cluster that cannot be read is left out, loudly, and of the etag too, as the map does it.
   *
   * @param claims absent: none is subtracted
   * @param accepts which clusters count
   */
  async read(
    format: WireFormat,
    claims?: NodeClaims,
    accepts: (head: Head) => boolean = () => true,
  ): Promise<MapNodes> {
    // Ledgers before heads: with the heads first, a job whose claim was fulfilled in between would count nowhere.
    const live = claims === undefined ? new Map<string, StoredLedger>() : await liveLedgers(claims.ledgers);
    const read = await this.#content.viewsOf((await this.#content.includedHeads()).filter(accepts));
    const effective = createHash('sha256');
    let claimed = 0;
    const shown: HeadView<ClusterNodes>[] = [];
    for (const nodes of read) {
      const stored = live.get(nodes.head.clusterId);
      if (stored === undefined || claims === undefined) {
        shown.push(nodes);
        continue;
      }
      const behind = await this.#behind(nodes, stored, claims);
      if (behind === undefined) continue;
      shown.push(behind.nodes);
      for (const line of behind.lines) effective.update(line);
      claimed += behind.lines.length;
    }
    const etag = clockEtag(
      shown.map(({ head }) => versionOf(head)),
      WHOLE_MAP,
      format,
    );
    return {
      clusters: shown.map(({ view }) => view),
      etag:
        claimed === 0 ? etag : etag.replace('.', `.${effective.digest('base64url').slice(0, DIGEST_CHARS)}.`),
    };
  }

  /** Nodes and chains have to be those of one snapshot. Absent: the cluster left the map, or cannot be read. */
  async #behind(
    read: HeadView<ClusterNodes>,
    stored: StoredLedger,
    { reader, now }: NodeClaims,
  ): Promise<{ readonly nodes: HeadView<ClusterNodes>; readonly lines: readonly string[] } | undefined> {
    let nodes = read;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const { head, situation } = await reader.evaluable(stored, nodes.head, now());
      if (head === undefined || situation.content === undefined) return undefined;
      if (head.body.contentId === nodes.head.body.contentId) {
        const evaluation = evaluateSituation(situation);
        const view = nodesBehindClaims(
          nodes.view,
          evaluation.view ?? situation.content.view,
          blockingPods(evaluation),
        );
        return { nodes: { head: nodes.head, view }, lines: effectiveClaims(stored.clusterId, evaluation) };
      }
      const [again] = await this.#content.viewsOf([head]);
      if (again === undefined) return undefined;
      nodes = again;
    }
    this.telemetry.error('cluster left out of bundles', {
      clusterId: stored.clusterId,
      cause: `its content moved on during all of ${MAX_ATTEMPTS} attempts`,
    });
    return undefined;
  }
}

/** 96 bits: nobody looks for two sets of claims with one digest. */
const DIGEST_CHARS = 16;

async function liveLedgers(ledgers: LedgerStore): Promise<ReadonlyMap<string, StoredLedger>> {
  const live = (await ledgers.readAll()).filter(({ ledger }) => ledger.holds.some(isLive));
  return new Map(live.map((stored) => [stored.clusterId, stored]));
}

/** What each claim that counts takes, a line each, without what merely passes with time. */
function effectiveClaims(clusterId: string, { claims }: Evaluation): readonly string[] {
  return claims
    .filter(({ end }) => end === undefined)
    .map(
      ({ hold: { fence, targets }, remaining, backed, pods }) =>
        `${JSON.stringify([
          clusterId,
          String(fence),
          remaining,
          backed ?? null,
          [...pods].map(([index, on]) => [targets[index]?.poolId, targets[index]?.nodeTypeId, [...on]]),
        ])}\n`,
    );
}
