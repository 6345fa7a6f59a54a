/**
 * Every state that the cluster had, from etcd itself, and whether what was pushed are such states.
 *
 * An agent hears of nodes, pods, slices and claims over one stream each, so that a cut has one
 * moment of each kind; what it may not have is a moment that never was, or one before that of
 * an earlier cut.
 */
import type { ApiClaim, ApiNode, ApiPod, ApiSlice, ApiState } from './oracle.ts';

const PREFIXES = {
  nodes: '/registry/minions/',
  pods: '/registry/pods/',
  slices: '/registry/resourceslices/',
  claims: '/registry/resourceclaims/',
} as const;
type Kind = keyof typeof PREFIXES;
const KINDS = Object.keys(PREFIXES) as readonly Kind[];

interface KeyValue {
  readonly key: string;
  readonly value?: string;
}

interface WatchLine {
  readonly result?: {
    readonly events?: readonly { readonly type?: 'DELETE'; readonly kv: KeyValue }[];
  };
  readonly error?: unknown;
}

/** States of one kind, each from its moment until the next one's. */
type Timeline = { readonly atMs: number; readonly objects: readonly object[] }[];

export class History {
  readonly #timelines: Record<Kind, Timeline>;
  readonly #objects = new Map<Kind, Map<string, object>>(KINDS.map((kind) => [kind, new Map()]));
  readonly #stop = new AbortController();
  #fault: unknown;

  private constructor() {
    const first = (): Timeline => [{ atMs: 0, objects: [] }];
    this.#timelines = { nodes: first(), pods: first(), slices: first(), claims: first() };
  }

  /** From the first revision on. The API server must store JSON. */
  static start(etcdUrl: string): History {
    const history = new History();
    history.#read(etcdUrl).catch((error: unknown) => {
      if (!history.#stop.signal.aborted) history.#fault = error;
    });
    return history;
  }

  stop(): void {
    this.#stop.abort();
  }

  async #read(etcdUrl: string): Promise<void> {
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    const response = await fetch(`${etcdUrl}/v3/watch`, {
      method: 'POST',
      body: JSON.stringify({
        create_request: { key: base64('/registry/'), range_end: base64('/registry0'), start_revision: 1 },
      }),
      signal: this.#stop.signal,
    });
    if (response.body === null) throw new Error(`etcd gives status ${response.status} for a watch.`);
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of response.body) {
      const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line !== '') this.#apply(JSON.parse(line) as WatchLine);
    }
    throw new Error('etcd ended the watch.');
  }

  #apply({ result, error }: WatchLine): void {
    if (error !== undefined) throw new Error(`etcd's watch: ${JSON.stringify(error)}`);
    for (const { type, kv } of result?.events ?? []) {
      const key = Buffer.from(kv.key, 'base64').toString('utf8');
      const kind = KINDS.find((each) => key.startsWith(PREFIXES[each]));
      if (kind === undefined) continue;
      const objects = this.#objects.get(kind);
      const before = objects?.get(key);
      const after =
        type === 'DELETE' || kv.value === undefined
          ? undefined
          : (JSON.parse(Buffer.from(kv.value, 'base64').toString('utf8')) as object);
      if (after === undefined) objects?.delete(key);
      else objects?.set(key, after);
      if (weight(kind, before) === weight(kind, after)) continue;
      this.#timelines[kind].push({ atMs: Date.now(), objects: [...(objects?.values() ?? [])] });
    }
  }

  /**
   * A line for each cut that no moment of the cluster explains, or only one before an earlier cut's.
   *
   * @param cuts in order, with what they say is free
   * @param freeOf what a state has free
   */
  unexplained(
    cuts: readonly { readonly atMs: number; readonly free: string }[],
    freeOf: (state: ApiState) => string,
  ): readonly string[] {
    if (this.#fault !== undefined) throw this.#fault;
    const at: Record<Kind, number> = { nodes: 0, pods: 0, slices: 0, claims: 0 };
    const known = new Map<string, string>();
    const lines: string[] = [];
    const stateOf = (indexes: Record<Kind, number>): string => {
      const key = KINDS.map((kind) => indexes[kind]).join();
      const found = known.get(key);
      if (found !== undefined) return found;
      const of = <T>(kind: Kind) => (this.#timelines[kind][indexes[kind]]?.objects ?? []) as readonly T[];
      const free = freeOf({
        nodes: of<ApiNode>('nodes'),
        pods: of<ApiPod>('pods'),
        slices: of<ApiSlice>('slices'),
        claims: of<ApiClaim>('claims'),
      });
      known.set(key, free);
      return free;
    };
    for (const { atMs, free } of cuts) {
      const moments = (kind: Kind): number[] => {
        const out: number[] = [];
        for (let i = at[kind]; i < this.#timelines[kind].length; i++) {
          // What etcd's stream brings here a moment later than to the agent was there all the same.
          if (i > at[kind] && (this.#timelines[kind][i]?.atMs ?? 0) > atMs + STREAM_LAG_MS) break;
          out.push(i);
        }
        return out;
      };
      const match = firstMatch(moments, (indexes) => stateOf(indexes) === free);
      if (match === undefined) lines.push(`${new Date(atMs).toISOString()} ${free}`);
      else Object.assign(at, match);
    }
    return lines;
  }
}

const STREAM_LAG_MS = 1_000;

function firstMatch(
  moments: (kind: Kind) => readonly number[],
  matches: (indexes: Record<Kind, number>) => boolean,
): Record<Kind, number> | undefined {
  const [allNodes, allPods, allSlices, allClaims] = [
    moments('nodes'),
    moments('pods'),
    moments('slices'),
    moments('claims'),
  ];
  for (const nodes of allNodes)
    for (const slices of allSlices)
      for (const claims of allClaims)
        for (const pods of allPods) {
          const indexes = { nodes, pods, slices, claims };
          if (matches(indexes)) return indexes;
        }
  return undefined;
}

/** What of an object a node's free devices can depend on. */
function weight(kind: Kind, object: object | undefined): string {
  if (object === undefined) return '';
  switch (kind) {
    case 'nodes': {
      const { metadata, spec, status } = object as ApiNode;
      const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
      return JSON.stringify([metadata.labels, spec, status?.allocatable, ready]);
    }
    case 'pods': {
      const { spec, status } = object as ApiPod;
      const containers = [...spec.containers, ...(spec.initContainers ?? [])];
      const asks = containers.map(({ resources }) => resources?.requests?.['nvidia.com/gpu'] ?? 0);
      if (spec.nodeName === undefined || asks.every((each) => Number(each) === 0)) return '';
      const over = status?.phase === 'Succeeded' || status?.phase === 'Failed';
      return over ? '' : JSON.stringify([spec.nodeName, asks, status?.extendedResourceClaimStatus]);
    }
    case 'slices':
      return JSON.stringify((object as ApiSlice).spec);
    case 'claims':
      return JSON.stringify((object as ApiClaim).status?.allocation ?? '');
  }
}
