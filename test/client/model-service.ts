/**
 * The service as its guarantees describe it, in memory: heads, and sync planned over them by the
 * real planner. What a replica must become is what this holds.
 */
import { create, toJson } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Client, SyncOptions } from '../../functions/client/client.ts';
import { ConnectionError } from '../../functions/client/errors.ts';
import { clockEtag } from '../../functions/core/map/clock.ts';
import { matcher, WHOLE_MAP } from '../../functions/core/map/filter.ts';
import { planSync, type SyncHead } from '../../functions/core/map/sync.ts';
import { timestampFields } from '../../functions/core/timestamp.ts';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
} from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { type SyncResponse, SyncResponseSchema } from '../../functions/gen/resourcemap/v1/service_pb.ts';

interface ModelHead extends SyncHead {
  readonly included: boolean;
  readonly content: number;
}

/** Every snapshot counts as this large. */
export const SNAPSHOT_BYTES = 100;

export class ModelService implements Pick<Client, 'sync'> {
  #heads = new Map<string, ModelHead>();
  #nowMs = 1_000;
  /** Answers to lose, counted down; the service works them out all the same. */
  responsesToLose = 0;
  asked = 0;

  /** Pushes content; the same content again is a refresh, and a cluster that is out of the map returns. */
  push(clusterId: string, content: number, region = ''): void {
    const before = this.#heads.get(clusterId);
    const counter = (before?.counter ?? 0n) + 1n;
    const nowMs = ++this.#nowMs;
    const same = before !== undefined && before.content === content && before.region === region;
    this.#heads.set(clusterId, {
      clusterId,
      counter,
      collectedAtNanos: BigInt(nowMs) * 1_000_000n,
      contentSinceCounter: same ? before.contentSinceCounter : counter,
      contentSinceMs: same && before.included ? before.contentSinceMs : nowMs,
      provider: '',
      region,
      site: '',
      acceleratorModels: [],
      acceleratorModelsCut: false,
      included: true,
      content,
    });
  }

  /** Pushes the content that is there. */
  refresh(clusterId: string): void {
    const head = this.#heads.get(clusterId);
    if (head !== undefined) this.push(clusterId, head.content, head.region);
  }

  omit(clusterId: string): void {
    const head = this.#heads.get(clusterId);
    if (head !== undefined) this.#heads.set(clusterId, { ...head, included: false });
  }

  /** A copy of the table, to be restored later. */
  backUp(): ReadonlyMap<string, ModelHead> {
    return new Map(this.#heads);
  }

  restore(backup: ReadonlyMap<string, ModelHead>): void {
    this.#heads = new Map(backup);
  }

  async sync({ clock, filter, maxBytes }: SyncOptions): Promise<SyncResponse> {
    this.asked++;
    const plan = planSync({
      heads: this.#included(),
      callerClock: clock,
      filter: { ...WHOLE_MAP, ...filter },
      format: 'protobuf',
      maxBytes: maxBytes ?? 4_000_000,
      snapshotBytes: () => SNAPSHOT_BYTES,
    });
    const response = create(SyncResponseSchema, {
      changed: plan.changed.map(snapshotOf),
      refreshed: plan.refreshed.map((head) => ({
        clusterId: head.clusterId,
        collectedAt: timestampFields(head.collectedAtNanos),
        logicalCounter: head.counter,
      })),
      omitted: [...plan.omitted],
      complete: plan.complete,
      etag: plan.etag,
    });
    if (this.responsesToLose > 0) {
      this.responsesToLose--;
      throw new ConnectionError('POST', 'model:', new Error('the response was lost'));
    }
    return response;
  }

  /** The map as JSON by cluster id, to be compared with a replica's. */
  map(region?: string): Map<string, unknown> {
    return new Map(this.#matching(region).map((head) => [head.clusterId, asJson(snapshotOf(head))]));
  }

  etag(region?: string): string {
    return clockEtag(
      this.#matching(region),
      { ...WHOLE_MAP, region: region === undefined ? [] : [region] },
      'protobuf',
    );
  }

  #matching(region: string | undefined): readonly ModelHead[] {
    return this.#included().filter(matcher({ ...WHOLE_MAP, region: region === undefined ? [] : [region] }));
  }

  #included(): readonly ModelHead[] {
    return [...this.#heads.values()].filter((head) => head.included);
  }
}

export function asJson(snapshot: ClusterResourceMap): unknown {
  return toJson(ClusterResourceMapSchema, snapshot);
}

function snapshotOf(head: ModelHead): ClusterResourceMap {
  return create(ClusterResourceMapSchema, {
    cluster: { clusterId: head.clusterId, region: head.region },
    collectedAt: timestampFromMs(Number(head.collectedAtNanos / 1_000_000n)),
    logicalCounter: head.counter,
    capacityPools: [{ id: `content-${head.content}` }],
  });
}
