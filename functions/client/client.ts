/** The API, typed. Protobuf on the wire, messages of protobuf-es here, 64-bit integers as bigint. */
import {
  clone,
  create,
  type DescMessage,
  equals,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { type MapFilter, WHOLE_MAP } from '../core/map/filter.ts';
import {
  ValidateBundleRequestSchema,
  type ValidationResult,
  ValidationResultSchema,
} from '../gen/resourcemap/bundle/v1/bundle_pb.ts';
import {
  PlanRequestSchema,
  type PlanResponse,
  PlanResponseSchema,
} from '../gen/resourcemap/bundle/v1/plan_pb.ts';
import {
  PoolListSchema,
  PoolSchema,
  type StoredPool,
  StoredPoolSchema,
} from '../gen/resourcemap/bundle/v1/pool_pb.ts';
import {
  type CapacityFilterSchema,
  type CapacityResponse,
  CapacityResponseSchema,
  type FitRequest,
  FitRequestSchema,
  type FitResponse,
  FitResponseSchema,
  GroupKey,
} from '../gen/resourcemap/v1/capacity_pb.ts';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
  type GlobalResourceMap,
  GlobalResourceMapSchema,
  PurchaseModel,
} from '../gen/resourcemap/v1/resource_map_pb.ts';
import {
  ClusterListSchema,
  type ClusterStatus,
  ClusterStatusSchema,
  type PushResult,
  PushResultSchema,
  SyncRequestSchema,
  type SyncResponse,
  SyncResponseSchema,
  type ValidateResult,
  ValidateResultSchema,
  VectorClockSchema,
} from '../gen/resourcemap/v1/service_pb.ts';
import { decodeResponse, PROTOBUF } from './decode-response.ts';
import { ApiError, UnexpectedResponseError } from './errors.ts';
import {
  DEFAULT_RETRY,
  type HttpRequest,
  type RetryPolicy,
  type RetryWait,
  send,
  type TransportOptions,
} from './transport.ts';

/** Below this a packet is not saved. */
const MIN_GZIP_BYTES = 1_000;

export interface ClientOptions {
  /** Such as `http://127.0.0.1:8080`; a path is kept. */
  readonly baseUrl: string | URL;
  /** A bearer token, or what gives the present one. Asked again at each try; what it throws ends the call. */
  readonly token?: string | (() => string | Promise<string>);
  /** The platform's fetch, where not given. */
  readonly fetch?: typeof fetch;
  readonly retry?: RetryPolicy;
  /** Told before each wait until the next try, which a service can ask to be as long as a minute. */
  readonly onWait?: (wait: RetryWait) => void;
}

export interface CallOptions {
  /** Gives the call up; the call then throws the signal's reason. */
  readonly signal?: AbortSignal;
}

export interface OmitOptions extends CallOptions {
  /** Shown with the status of the cluster; the service's `deleted` where not given. */
  readonly reason?: string;
}

export interface PushOptions extends CallOptions {
  /** Turns warnings into refusals. */
  readonly strict?: boolean;
  /** Lets the counter rise by more than 2^53. */
  readonly allowJump?: boolean;
  /**
   * Asked when the service has accepted this counter or a higher one before, which is what an
   * agent meets that lost its counter. It gives the counter with which to send the snapshot
   * again, above the mark, or nothing to let the call fail. Give none where another process
   * may have pushed something newer: this snapshot would be put on top of it.
   */
  readonly onCounterConflict?: (highWaterMark: bigint) => bigint | undefined;
  /**
   * The token of a response that was received before the cluster was looked at, as
   * `onAccepted` gave it: proof of how recent this look is, by the service's own clock.
   */
  readonly observed?: string;
  /** Given what the service says beside its result. */
  readonly onAccepted?: (said: PushHeaders) => void;
}

/** What the headers of an accepted push say; a service that does not know of them says nothing. */
export interface PushHeaders {
  /** Opaque, for `observed` of a later push. */
  readonly observed: string | undefined;
  /** After how long without a push the service takes the cluster out of the map. */
  readonly omitAfterMs: number | undefined;
}

export interface MapOptions extends CallOptions {
  readonly filter?: Partial<MapFilter>;
  /** The etag of the map that the caller has. */
  readonly ifNoneMatch?: string;
  /** With `ifNoneMatch`: how long the service may wait for a change before it responds that there is none; it counts whole seconds. */
  readonly waitMs?: number;
}

export interface ChangedMap {
  readonly kind: 'map';
  readonly map: GlobalResourceMap;
  readonly etag: string;
}

/** The caller's map is current. */
export interface NotModified {
  readonly kind: 'not-modified';
  readonly etag: string;
}

export type MapResponse = ChangedMap | NotModified;

export interface SyncOptions extends CallOptions {
  /** What the caller has: counter by cluster id. */
  readonly clock: ReadonlyMap<string, bigint>;
  readonly filter?: Partial<MapFilter>;
  /** Roughly how large the response may be, before gzip; the service's default where not given. */
  readonly maxBytes?: number;
  /** Of the response before, if that was not complete: each cluster then has its turn, however fast all change. */
  readonly continuation?: string;
  /** How long the service may wait for a change before it responds that there is none; it counts whole seconds. */
  readonly waitMs?: number;
}

/** Which targets; what is left out is no condition. */
export type CapacityFilterInit = MessageInitShape<typeof CapacityFilterSchema>;

export interface CapacityOptions extends CallOptions {
  readonly filter?: CapacityFilterInit;
  /** Sums by these, in place of the targets themselves. */
  readonly groupBy?: readonly GroupKey[];
}

export interface PutPoolOptions extends CallOptions {
  /**
   * The etag of the pool that is to be replaced, or `*` for whatever is there. Without one a
   * pool is created, and one that is there and says something else is left as it is
   * (`precondition_required`).
   */
  readonly ifMatch?: string;
  /**
   * Fails where there is a pool of the name, even the same one (`pool_changed`). Only where the
   * answer of an earlier try was lost is the same one taken for what that try made.
   */
  readonly onlyCreate?: boolean;
}

export interface Client {
  /**
   * Sends a snapshot, to the cluster that it names. The response comes once it is stored; the
   * service may have accepted a push that ends in a ConnectionError.
   */
  push(snapshot: ClusterResourceMap, options?: PushOptions): Promise<PushResult>;
  /** Applies the rules that one snapshot alone can break, and stores nothing. */
  validate(
    snapshot: ClusterResourceMap,
    options?: CallOptions & { strict?: boolean },
  ): Promise<ValidateResult>;
  /** Takes a cluster out of the map until its next push. One that is out stays so, for the reason that it has. */
  omit(clusterId: string, options?: OmitOptions): Promise<ClusterStatus>;
  /** Every known cluster, those out of the map too. */
  clusters(options?: CallOptions): Promise<readonly ClusterStatus[]>;
  cluster(clusterId: string, options?: CallOptions): Promise<ClusterStatus>;
  /** The last snapshot of a cluster that is in the map. */
  snapshot(clusterId: string, options?: CallOptions): Promise<ClusterResourceMap>;
  map(options?: MapOptions & { readonly ifNoneMatch?: undefined }): Promise<ChangedMap>;
  /** Only where the caller says which map it has can the response be that it has not changed. */
  map(options: MapOptions): Promise<MapResponse>;
  clock(options?: CallOptions & { filter?: Partial<MapFilter> }): Promise<ReadonlyMap<string, bigint>>;
  /** One answer of sync; `MapReplica` does the rest. */
  sync(options: SyncOptions): Promise<SyncResponse>;
  /** What is left, by cluster, pool and node type, or summed up. */
  capacity(options?: CapacityOptions): Promise<CapacityResponse>;
  /** Whether shapes of work fit, where, how many of them, and why not. */
  fit(question: MessageInitShape<typeof FitRequestSchema>, options?: CallOptions): Promise<FitResponse>;
  /** Every configured pool, in the order of their names. */
  pools(options?: CallOptions): Promise<readonly StoredPool[]>;
  pool(poolName: string, options?: CallOptions): Promise<StoredPool>;
  /** Creates a pool, or replaces the one that `ifMatch` names. */
  putPool(pool: MessageInitShape<typeof PoolSchema>, options?: PutPoolOptions): Promise<StoredPool>;
  /**
   * Removes a pool; where `ifMatch` is given, only as long as it is that one (`pool_changed`).
   * Where the response of an earlier try was lost, a pool that is not there is removed.
   */
  deletePool(poolName: string, options?: CallOptions & { readonly ifMatch?: string }): Promise<void>;
  /**
   * Whether a bundle can ever be placed: by the configured pools over the present map, or by
   * the given ones. `validateBundle` of `@resource-map/client/bundle` responses without a service.
   */
  validateBundle(
    question: MessageInitShape<typeof ValidateBundleRequestSchema>,
    options?: CallOptions,
  ): Promise<ValidationResult>;
  /** Where bundles and node services would land now. Nothing is reserved. */
  planBundles(
    question: MessageInitShape<typeof PlanRequestSchema>,
    options?: CallOptions,
  ): Promise<PlanResponse>;
}

/**
 * Makes a client. Every method throws ApiError where the service refuses, ConnectionError where
 * it does not answer in all tries, and UnexpectedResponseError where something else answers.
 *
 * @example
 * ```ts
 * import { createClient } from '@resource-map/client';
 *
 * const client = createClient({ baseUrl: 'http://127.0.0.1:8080', token: () => readToken() });
 * const { map, etag } = await client.map({ filter: { region: ['us-east-1'] } });
 * console.log(`${map.clusterResourceMaps.length} clusters at ${etag}`);
 * ```
 */
export function createClient(options: ClientOptions): Client {
  const transport = transportOf(options);

  const ask = async <D extends DescMessage>(schema: D, request: HttpRequest): Promise<MessageShape<D>> =>
    decodeResponse(
      schema,
      request,
      await send(transport, { ...request, headers: { accept: PROTOBUF, ...request.headers } }),
    );

  const pushOnce = async (
    snapshot: ClusterResourceMap,
    { strict, allowJump, observed, onAccepted, signal }: PushOptions,
  ) => {
    const clusterId = snapshot.cluster?.clusterId ?? '';
    const query = queryOf([
      ['strict', strict === true ? ['true'] : []],
      ['allow_jump', allowJump === true ? ['true'] : []],
    ]);
    const { body, headers } = await encoded(toBinary(ClusterResourceMapSchema, snapshot));
    const request: HttpRequest = {
      method: 'PUT',
      path: `${clusterPath(clusterId)}/snapshot${query}`,
      body,
      headers: {
        accept: PROTOBUF,
        ...headers,
        ...(observed === undefined ? {} : { 'resource-map-observed': observed }),
      },
      signal,
    };
    const response = await send(transport, request);
    const result = decodeResponse(PushResultSchema, request, response);
    onAccepted?.({
      observed: response.headers.get('resource-map-observed') ?? undefined,
      omitAfterMs: secondsAsMs(response.headers.get('resource-map-omit-after')),
    });
    return result;
  };

  const readPool = async (poolName: string, { signal }: CallOptions = {}): Promise<StoredPool> =>
    ask(StoredPoolSchema, { method: 'GET', path: poolPath(poolName), signal });

  /** The pool as it is, or nothing where there is none of the name. */
  const findPool = async (poolName: string, options: CallOptions): Promise<StoredPool | undefined> => {
    try {
      return await readPool(poolName, options);
    } catch (error) {
      if (error instanceof ApiError && error.code === 'pool_not_found') return undefined;
      throw error;
    }
  };

  let hasWaitRoutes = true;
  /** Asks the routes that wait, and a service that is older and has none of them as it was asked before. */
  const asked = async <T>(
    path: string,
    waitMs: number | undefined,
    ask: (path: string) => Promise<T>,
  ): Promise<T> => {
    if (!waitMs || !hasWaitRoutes) return ask(`/v1${path}`);
    try {
      return await ask(`/v1/wait${path}`);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'not_found') throw error;
      hasWaitRoutes = false;
      return ask(`/v1${path}`);
    }
  };

  /** Unconditional requests have no response but the map, which is what the overloads of `Client.map` say. */
  async function map(options?: MapOptions & { readonly ifNoneMatch?: undefined }): Promise<ChangedMap>;
  async function map(options: MapOptions): Promise<MapResponse>;
  async function map({ filter, ifNoneMatch, waitMs, signal }: MapOptions = {}): Promise<MapResponse> {
    const requestTo = (path: string): HttpRequest => ({
      method: 'GET',
      path,
      headers: {
        accept: PROTOBUF,
        ...(ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch }),
        ...preferWait(waitMs),
      },
      ...holdFor(waitMs),
      signal,
    });
    const { request, response } = await asked(`/map${filterQuery(filter)}`, waitMs, async (path) => {
      const request = requestTo(path);
      return { request, response: await send(transport, request) };
    });
    const etag = response.headers.get('etag');
    if (etag === null)
      throw new UnexpectedResponseError(request.method, response.url, 'the response has no ETag');
    if (response.status === 304 && ifNoneMatch !== undefined) return { kind: 'not-modified', etag };
    return { kind: 'map', map: decodeResponse(GlobalResourceMapSchema, request, response), etag };
  }

  return {
    async push(snapshot, options = {}) {
      try {
        return await pushOnce(snapshot, options);
      } catch (error) {
        const mark = conflictingMark(error);
        const counter = mark === undefined ? undefined : options.onCounterConflict?.(mark);
        if (counter === undefined) throw error;
        const renumbered = clone(ClusterResourceMapSchema, snapshot);
        renumbered.logicalCounter = counter;
        return pushOnce(renumbered, options);
      }
    },

    async validate(snapshot, { strict, signal } = {}) {
      return ask(ValidateResultSchema, {
        method: 'POST',
        path: `/v1/snapshots/validate${queryOf([['strict', strict === true ? ['true'] : []]])}`,
        ...(await encoded(toBinary(ClusterResourceMapSchema, snapshot))),
        signal,
      });
    },

    async omit(clusterId, { reason, signal } = {}) {
      const query = queryOf([['reason', reason === undefined ? [] : [reason]]]);
      return ask(ClusterStatusSchema, {
        method: 'DELETE',
        path: `${clusterPath(clusterId)}${query}`,
        signal,
      });
    },

    async clusters({ signal } = {}) {
      return (await ask(ClusterListSchema, { method: 'GET', path: '/v1/clusters', signal })).clusters;
    },

    async cluster(clusterId, { signal } = {}) {
      return ask(ClusterStatusSchema, { method: 'GET', path: clusterPath(clusterId), signal });
    },

    async snapshot(clusterId, { signal } = {}) {
      return ask(ClusterResourceMapSchema, {
        method: 'GET',
        path: `${clusterPath(clusterId)}/snapshot`,
        signal,
      });
    },

    map,

    async clock({ filter, signal } = {}) {
      const clock = await ask(VectorClockSchema, {
        method: 'GET',
        path: `/v1/map/clock${filterQuery(filter)}`,
        signal,
      });
      return new Map(Object.entries(clock.vectorClock));
    },

    async sync({ clock, filter, maxBytes, continuation = '', waitMs, signal }) {
      const question = create(SyncRequestSchema, {
        // fromEntries defines properties, so that no id can change the object's prototype.
        vectorClock: Object.fromEntries(clock),
        maxBytes: BigInt(maxBytes ?? 0),
        continuation,
        filter: mutableFilter({ ...WHOLE_MAP, ...filter }),
      });
      const { body, headers } = await encoded(toBinary(SyncRequestSchema, question));
      return asked('/map/sync', waitMs, (path) =>
        ask(SyncResponseSchema, {
          method: 'POST',
          path,
          body,
          headers: { ...headers, ...preferWait(waitMs) },
          ...holdFor(waitMs),
          signal,
        }),
      );
    },

    async capacity({ filter = {}, groupBy = [], signal } = {}) {
      return ask(CapacityResponseSchema, {
        method: 'GET',
        path: `/v1/capacity${capacityQuery(filter, groupBy)}`,
        signal,
      });
    },

    async fit(question, { signal } = {}) {
      const request: FitRequest = create(FitRequestSchema, question);
      return ask(FitResponseSchema, {
        method: 'POST',
        path: '/v1/capacity/fit',
        ...(await encoded(toBinary(FitRequestSchema, request))),
        signal,
      });
    },

    async pools({ signal } = {}) {
      return (await ask(PoolListSchema, { method: 'GET', path: '/v1/pools', signal })).pools;
    },

    pool: readPool,

    async putPool(init, { ifMatch, onlyCreate, ...options } = {}) {
      const pool = create(PoolSchema, init);
      const { body, headers } = await encoded(toBinary(PoolSchema, pool));
      try {
        return await ask(StoredPoolSchema, {
          method: 'PUT',
          path: poolPath(pool.poolName),
          body,
          headers: {
            ...headers,
            ...ifMatchHeader(ifMatch),
            ...(onlyCreate === true ? { 'if-none-match': '*' } : {}),
          },
          ...options,
        });
      } catch (error) {
        // With If-Match the service itself takes a change that is made already for made.
        if (onlyCreate !== true || !isPossiblyOwnWrite(error)) throw error;
        const kept = await findPool(pool.poolName, options);
        if (kept?.pool === undefined || !equals(PoolSchema, kept.pool, pool)) throw error;
        return kept;
      }
    },

    async deletePool(poolName, { ifMatch, ...options } = {}) {
      try {
        await send(transport, {
          method: 'DELETE',
          path: poolPath(poolName),
          headers: ifMatchHeader(ifMatch),
          ...options,
        });
      } catch (error) {
        if (!isPossiblyOwnWrite(error) || (await findPool(poolName, options)) !== undefined) throw error;
      }
    },

    async validateBundle(question, { signal } = {}) {
      return ask(ValidationResultSchema, {
        method: 'POST',
        path: '/v1/bundles/validate',
        ...(await encoded(
          toBinary(ValidateBundleRequestSchema, create(ValidateBundleRequestSchema, question)),
        )),
        signal,
      });
    },

    async planBundles(question, { signal } = {}) {
      return ask(PlanResponseSchema, {
        method: 'POST',
        path: '/v1/bundles/plan',
        ...(await encoded(toBinary(PlanRequestSchema, create(PlanRequestSchema, question)))),
        signal,
      });
    },
  };
}

/** The mark, where the error says that the push's counter is not above it. */
function conflictingMark(error: unknown): bigint | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const conflict = error.code === 'counter_regressed' || error.code === 'counter_reused';
  return conflict ? error.problem.highWaterMark : undefined;
}

/** Whether what stands in the way of a change to a pool may be that very change, made by a try without a response. */
function isPossiblyOwnWrite(error: unknown): boolean {
  if (!(error instanceof ApiError) || !error.possiblyApplied) return false;
  return error.code === 'pool_changed' || error.code === 'pool_not_found';
}

/** What the options of a client mean for its requests. */
export function transportOf(options: ClientOptions): TransportOptions {
  return {
    baseUrl: new URL(options.baseUrl),
    ...(options.token === undefined ? {} : { token: options.token }),
    // A browser's fetch refuses to be called as a method of another object.
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    retry: options.retry ?? DEFAULT_RETRY,
    ...(options.onWait === undefined ? {} : { onWait: options.onWait }),
  };
}

function clusterPath(clusterId: string): string {
  return `/v1/clusters/${encodeURIComponent(clusterId)}`;
}

function poolPath(poolName: string): string {
  return `/v1/pools/${encodeURIComponent(poolName)}`;
}

function ifMatchHeader(etag: string | undefined): Record<string, string> {
  return etag === undefined ? {} : { 'if-match': etag };
}

function secondsAsMs(value: string | null): number | undefined {
  return value !== null && /^[1-9]\d{0,8}$/.test(value) ? Number(value) * 1_000 : undefined;
}

type Parameters = readonly (readonly [string, readonly string[]])[];

function filterParameters(filter: Partial<MapFilter>): Parameters {
  return [
    ['cluster', filter.cluster ?? []],
    ['provider', filter.provider ?? []],
    ['region', filter.region ?? []],
    ['site', filter.site ?? []],
    ['accelerator_model', filter.acceleratorModel ?? []],
  ];
}

function filterQuery(filter: Partial<MapFilter> = {}): string {
  return queryOf(filterParameters(filter));
}

function capacityQuery(filter: CapacityFilterInit, groupBy: readonly GroupKey[]): string {
  const lower = (name: string | undefined): string => (name ?? '').toLowerCase();
  return queryOf([
    ...filterParameters(filter),
    ['pool', filter.pool ?? []],
    ['node_type', filter.nodeType ?? []],
    ['instance_type', filter.instanceType ?? []],
    ['purchase_model', (filter.purchaseModel ?? []).map((model) => lower(PurchaseModel[model]))],
    ['zone', filter.zone ?? []],
    ['fabric', filter.fabric ?? []],
    ['rdma_ready', filter.rdmaReady === undefined ? [] : [String(filter.rdmaReady)]],
    ['eligible', filter.eligible === undefined ? [] : [String(filter.eligible)]],
    ['group_by', groupBy.map((key) => lower(GroupKey[key]))],
  ]);
}

function queryOf(parameters: Parameters): string {
  const query = new URLSearchParams();
  for (const [name, values] of parameters) for (const value of values) query.append(name, value);
  return query.size === 0 ? '' : `?${query}`;
}

function mutableFilter(filter: MapFilter): { [K in keyof MapFilter]: string[] } {
  return {
    cluster: [...filter.cluster],
    provider: [...filter.provider],
    region: [...filter.region],
    site: [...filter.site],
    acceleratorModel: [...filter.acceleratorModel],
  };
}

function preferWait(waitMs: number | undefined): Record<string, string> {
  return waitMs === undefined ? {} : { prefer: `wait=${Math.ceil(waitMs / 1_000)}` };
}

function holdFor(waitMs: number | undefined): { holdMs?: number } {
  return waitMs === undefined ? {} : { holdMs: waitMs };
}

async function encoded(
  message: Uint8Array<ArrayBuffer>,
): Promise<{ body: Uint8Array<ArrayBuffer>; headers: Record<string, string> }> {
  const headers = { 'content-type': PROTOBUF };
  // Bun has no streams that compress in some of its versions; the service accepts plain bytes as well.
  if (message.length < MIN_GZIP_BYTES || typeof CompressionStream === 'undefined')
    return { body: message, headers };
  return { body: await gzip(message), headers: { ...headers, 'content-encoding': 'gzip' } };
}

async function gzip(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const compressed = new Blob([bytes]).stream().pipeThrough(new CompressionStream('gzip'));
  return new Uint8Array(await new Response(compressed).arrayBuffer());
}
