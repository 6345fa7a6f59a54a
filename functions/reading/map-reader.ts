/**
 * Reads the map: the heads, strongly consistent at every call, and the bodies that they
 * name. What cannot be read leaves its own cluster out, loudly, and nothing else.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { fromBinary } from '@bufbuild/protobuf';
import type { ClusterVersion, MapEntry } from '../core/map/entry.ts';
import type { FilterFacts } from '../core/map/filter.ts';
import { Fragment } from '../core/map/fragment.ts';
import { jsonMembers } from '../core/map/json-members.ts';
import type { WireFormat } from '../core/snapshot/decode.ts';
import { ClusterResourceMapSchema } from '../gen/resourcemap/v1/resource_map_pb.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { Store } from '../storage/commit.ts';
import type { Head } from '../storage/head.ts';
import type { AllHeads } from '../storage/heads.ts';
import type { ContentCache } from './content-cache.ts';
import { ContentLoader } from './content-loader.ts';
import { SharedRead } from './shared-read.ts';

/** The form in which bodies are wanted. */
export interface ContentFormat {
  readonly format: WireFormat;
  readonly zipped: boolean;
}

/** A JSON body takes milliseconds to render; after so many of them other requests get their turn. */
const TURN_MS = 10;

export class MapReader {
  readonly #heads: SharedRead<AllHeads>;
  readonly #loads: ContentLoader;
  /** The heads of the last read, which say what the cache need not keep. */
  #latest: readonly Head[] | undefined;
  #included: readonly Head[] = [];

  constructor(
    private readonly store: Store,
    private readonly cache: ContentCache,
    private readonly telemetry: Telemetry,
  ) {
    this.#heads = new SharedRead(() => store.heads.readAll());
    this.#loads = new ContentLoader((refs) => store.contents.read(refs));
  }

  /** Every known cluster, in order of id; the same array for as long as nothing changes. */
  async allHeads(): Promise<readonly Head[]> {
    const { heads, unreadable } = await this.#heads.get();
    for (const error of unreadable) this.#leaveOut(error.clusterId, error);
    if (!sameElements(heads, this.#latest)) {
      this.#latest = heads;
      this.#included = heads.filter((head) => head.omission === undefined);
    }
    return this.#latest ?? heads;
  }

  /** The clusters in the map; the same array for as long as nothing changes. */
  async includedHeads(): Promise<readonly Head[]> {
    await this.allHeads();
    return this.#included;
  }

  /** The entries of a response, body, counter and time of each from one and the same head. */
  async entries(heads: readonly Head[], form: ContentFormat): Promise<readonly MapEntry[]> {
    const { readable, contents } = await this.readContents(heads, form);
    return readable.map((head) => entryOf(head, contents));
  }

  /**
   * The bodies of heads, by body id. A head whose body is not there is read again, once, since
   * it may have moved on and its old body expired.
   * @returns `readable`: the heads in the order given, each as it is now, without those
   *   that left the map or cannot be read; each has its body in `contents`
   */
  async readContents(
    heads: readonly Head[],
    form: ContentFormat,
  ): Promise<{ readonly readable: readonly Head[]; readonly contents: ReadonlyMap<string, Fragment> }> {
    const contents = await this.#fragments(heads, form);
    const missing = heads.filter((head) => !contents.has(head.body.contentId));
    if (missing.length === 0) return { readable: heads, contents };

    const moved = new Map<string, Head>();
    for (const head of missing) {
      const now = await this.store.heads.read(head.clusterId);
      if (now !== undefined && now.omission === undefined) moved.set(head.clusterId, now);
    }
    const found = await this.#fragments([...moved.values()], form);
    const readable: Head[] = [];
    for (const head of heads) {
      const now = moved.get(head.clusterId);
      if (contents.has(head.body.contentId)) readable.push(head);
      else if (now !== undefined && found.has(now.body.contentId)) readable.push(now);
      else if (now !== undefined) {
        this.#leaveOut(head.clusterId, new Error(`Body ${now.body.contentId} is not there or not whole.`));
      }
    }
    return { readable, contents: new Map([...contents, ...found]) };
  }

  /** How large the cluster's body is in the format, where that is known, or about how large. */
  bodyBytes(head: Head, format: WireFormat): number {
    if (format === 'protobuf') return head.body.rawBytes;
    return this.cache.get(head.body.contentId)?.json?.rawLength ?? head.body.rawBytes * JSON_EXPANSION;
  }

  async #fragments(heads: readonly Head[], form: ContentFormat): Promise<Map<string, Fragment>> {
    const fragments = new Map<string, Fragment>();
    const absent = heads.filter((head) => this.cache.get(head.body.contentId) === undefined);
    if (absent.length > 0 && this.#latest !== undefined) {
      this.cache.keepOnly(new Set(this.#latest.map((head) => head.body.contentId)));
    }
    const stored = absent.length === 0 ? undefined : await this.#loads.read(absent.map((head) => head.body));

    let turnStartedMs = performance.now();
    for (const head of heads) {
      const { contentId } = head.body;
      try {
        const fragment = this.#fragment(head, stored?.get(contentId), form.format);
        if (fragment === undefined) continue;
        fragments.set(contentId, fragment);
        if (!form.zipped) this.cache.keepRaw(contentId, fragment);
      } catch (error) {
        // Reading it again will not fix it, but the head may have moved to another body.
        this.telemetry.error('body unreadable', { clusterId: head.clusterId, cause: error });
      }
      if (performance.now() - turnStartedMs > TURN_MS) {
        await yieldToEventLoop();
        turnStartedMs = performance.now();
      }
    }
    return fragments;
  }

  /** From the cache or from stored bytes, which then go to the cache. */
  #fragment({ body }: Head, stored: Uint8Array | undefined, format: WireFormat): Fragment | undefined {
    const cached = this.cache.get(body.contentId);
    const protobuf =
      cached?.protobuf ??
      (stored === undefined ? undefined : Fragment.verify(stored, body.rawBytes, body.crc32));
    if (protobuf === undefined) return undefined;
    if (cached === undefined) this.cache.put(body.contentId, protobuf);
    if (format === 'protobuf') return protobuf;

    if (cached?.json !== undefined) return cached.json;
    const json = Fragment.compress(jsonMembers(fromBinary(ClusterResourceMapSchema, protobuf.raw())));
    this.cache.putJson(body.contentId, json);
    return json;
  }

  #leaveOut(clusterId: string, cause: unknown): void {
    this.telemetry.error('cluster left out of the map', { clusterId, cause });
    this.telemetry.count('BodiesMissing', 1);
  }
}

/** JSON over Protobuf, as measured on real snapshots, where it is between 2.6 and 4.2. */
const JSON_EXPANSION = 4;

/** @param bodies holds the head's body */
export function entryOf(head: Head, contents: ReadonlyMap<string, Fragment>): MapEntry {
  const body = contents.get(head.body.contentId);
  if (body === undefined)
    throw new Error(`The body of cluster ${JSON.stringify(head.clusterId)} was not read.`);
  return {
    clusterId: head.clusterId,
    counter: head.highWater,
    collectedAtNanos: head.collectedAtNanos,
    body,
  };
}

/** Where a cluster is in the clock. */
export function versionOf(head: Head): ClusterVersion {
  return { clusterId: head.clusterId, counter: head.highWater, collectedAtNanos: head.collectedAtNanos };
}

const versions = new WeakMap<readonly Head[], readonly ClusterVersion[]>();

/** Where the clusters stand in the clock; the same array for the same heads. */
export function versionsOf(heads: readonly Head[]): readonly ClusterVersion[] {
  const known = versions.get(heads) ?? heads.map(versionOf);
  versions.set(heads, known);
  return known;
}

/** What filters look at. */
export function filterFacts(head: Head): FilterFacts {
  return {
    clusterId: head.clusterId,
    provider: head.identity.provider,
    region: head.identity.region,
    site: head.identity.site,
    acceleratorModels: head.accelerators.map((a) => a.model),
    acceleratorModelsCut: head.omittedModels > 0,
  };
}

function sameElements<T>(values: readonly T[], others: readonly T[] | undefined): boolean {
  return values.length === others?.length && values.every((value, index) => value === others[index]);
}
