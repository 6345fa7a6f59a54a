/** Which request to which route each method of ResourceMapService is. */
import {
  type DescMessage,
  fromBinary,
  fromJsonString,
  type MessageShape,
  toBinary,
  toJson,
  toJsonString,
} from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import { MalformedBodyError, ResourceMapError } from '../../core/errors.ts';
import type { WireFormat } from '../../core/snapshot/decode.ts';
import { clusterIdFault } from '../../core/snapshot/rules/ids.ts';
import { PoolSchema } from '../../gen/resourcemap/bundle/v1/pool_pb.ts';
import { type CapacityFilter, GroupKey } from '../../gen/resourcemap/v1/capacity_pb.ts';
import { ClusterIdentitySchema, PurchaseModel } from '../../gen/resourcemap/v1/resource_map_pb.ts';
import {
  DeletePoolRequestSchema,
  GetCapacityRequestSchema,
  GetClockRequestSchema,
  GetClusterRequestSchema,
  GetMapRequestSchema,
  GetPoolRequestSchema,
  GetSnapshotRequestSchema,
  ListClustersRequestSchema,
  ListPoolsRequestSchema,
  OmitClusterRequestSchema,
  PutPoolRequestSchema,
} from '../../gen/resourcemap/v1/rpc_requests_pb.ts';
import { ClusterState, type MapFilter } from '../../gen/resourcemap/v1/service_pb.ts';

/** The request that a route gets. */
export interface RouteRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly query?: URLSearchParams;
  /** In the format of the call. */
  readonly body?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Method {
  /** NO_SIDE_EFFECTS in the proto: GET is allowed. */
  readonly safe: boolean;
  readonly request: (message: Uint8Array, format: WireFormat) => RouteRequest;
}

/** A method whose request is read here, and becomes a path, a query or headers. */
function reads<Desc extends DescMessage>(
  safe: boolean,
  schema: Desc,
  request: (message: MessageShape<Desc>, format: WireFormat) => RouteRequest,
): Method {
  return { safe, request: (message, format) => request(decode(schema, message, format), format) };
}

/** A method whose request is the body of its route, as it is. */
function passes(path: string): Method {
  return { safe: false, request: (body) => ({ method: 'POST', path, body }) };
}

export const METHODS: Readonly<Record<string, Method>> = {
  GetMap: reads(true, GetMapRequestSchema, ({ filter }) => get('/v1/map', mapQuery(filter))),
  GetClock: reads(true, GetClockRequestSchema, ({ filter }) => get('/v1/map/clock', mapQuery(filter))),
  SyncMap: passes('/v1/map/sync'),
  ListClusters: reads(true, ListClustersRequestSchema, (message) => {
    const { filter, states, conditions, search, changedSince, limit } = message;
    const query = mapQuery(filter);
    appendEnums(query, 'state', states, ClusterState);
    append(query, 'condition', conditions);
    if (search !== '') query.set('search', search);
    if (changedSince !== undefined) query.set('changed_since', toJson(TimestampSchema, changedSince));
    if (limit !== 0) query.set('limit', String(limit));
    return get('/v1/clusters', query);
  }),
  GetCluster: reads(true, GetClusterRequestSchema, ({ clusterId }) => get(clusterPath(clusterId))),
  GetSnapshot: reads(true, GetSnapshotRequestSchema, ({ clusterId }) =>
    get(`${clusterPath(clusterId)}/snapshot`),
  ),
  PushSnapshot: {
    safe: false,
    request: (message, format) => {
      const { clusterId, snapshot, allowJump, strict } = pushParts(message, format);
      const query = new URLSearchParams();
      if (allowJump) query.set('allow_jump', 'true');
      if (strict) query.set('strict', 'true');
      return { method: 'PUT', path: `${clusterPath(clusterId)}/snapshot`, query, body: snapshot };
    },
  },
  ValidateSnapshot: {
    safe: false,
    request: (message, format) => ({
      method: 'POST',
      path: '/v1/snapshots/validate',
      body: pushParts(message, format).snapshot,
    }),
  },
  OmitCluster: reads(false, OmitClusterRequestSchema, ({ clusterId, reason }) => ({
    method: 'DELETE',
    path: clusterPath(clusterId),
    query: new URLSearchParams(reason === '' ? {} : { reason }),
  })),
  GetCapacity: reads(true, GetCapacityRequestSchema, ({ filter, groupBy, ignoreClaims }) => {
    const query = capacityQuery(filter);
    appendEnums(query, 'group_by', groupBy, GroupKey);
    if (ignoreClaims) query.set('claims', 'ignore');
    return get('/v1/capacity', query);
  }),
  Fit: passes('/v1/capacity/fit'),
  ValidateBundle: passes('/v1/bundles/validate'),
  PlanBundles: passes('/v1/bundles/plan'),
  ListPools: reads(true, ListPoolsRequestSchema, () => get('/v1/pools')),
  GetPool: reads(true, GetPoolRequestSchema, ({ poolName }) => get(poolPath(poolName))),
  PutPool: reads(false, PutPoolRequestSchema, ({ pool, etag }, format) => {
    if (pool === undefined) {
      throw new ResourceMapError('invalid_bundle_request', 'pool: The request has no pool; send one.');
    }
    return {
      method: 'PUT',
      path: poolPath(pool.poolName),
      body: encode(PoolSchema, pool, format),
      headers: etag === '' ? {} : { 'if-match': etag },
    };
  }),
  DeletePool: reads(false, DeletePoolRequestSchema, ({ poolName, etag }) => ({
    method: 'DELETE',
    path: poolPath(poolName),
    headers: etag === '' ? {} : { 'if-match': etag },
  })),
};

function get(path: string, query?: URLSearchParams): RouteRequest {
  return query === undefined ? { method: 'GET', path } : { method: 'GET', path, query };
}

function clusterPath(id: string): string {
  // URLs have no path segments of dots alone, however they are encoded.
  const fault = /^\.{1,2}$/.test(id) ? 'cannot be "." or ".."' : clusterIdFault(id);
  if (fault !== undefined)
    throw new ResourceMapError('invalid_cluster_id', `The cluster id ${fault}.`, {
      field: 'cluster',
      value: id,
    });
  return `/v1/clusters/${encodeURIComponent(id)}`;
}

function poolPath(name: string): string {
  if (name === '' || /^\.{1,2}$/.test(name)) {
    throw new ResourceMapError(
      'invalid_pool_name',
      `The pool name is ${JSON.stringify(name)}; send the name of a pool.`,
    );
  }
  return `/v1/pools/${encodeURIComponent(name)}`;
}

function append(query: URLSearchParams, name: string, values: readonly string[]): void {
  for (const value of values) query.append(name, value);
}

function appendEnums(
  query: URLSearchParams,
  name: string,
  values: readonly number[],
  names: Readonly<Record<number, string>>,
): void {
  append(
    query,
    name,
    values.map((value) => (names[value] ?? String(value)).toLowerCase()),
  );
}

function mapQuery(filter: MapFilter | undefined): URLSearchParams {
  const query = new URLSearchParams();
  if (filter === undefined) return query;
  append(query, 'cluster', filter.cluster);
  append(query, 'provider', filter.provider);
  append(query, 'region', filter.region);
  append(query, 'site', filter.site);
  append(query, 'accelerator_model', filter.acceleratorModel);
  return query;
}

function capacityQuery(filter: CapacityFilter | undefined): URLSearchParams {
  const query = new URLSearchParams();
  if (filter === undefined) return query;
  append(query, 'cluster', filter.cluster);
  append(query, 'provider', filter.provider);
  append(query, 'region', filter.region);
  append(query, 'site', filter.site);
  append(query, 'accelerator_model', filter.acceleratorModel);
  append(query, 'pool', filter.pool);
  append(query, 'node_type', filter.nodeType);
  append(query, 'instance_type', filter.instanceType);
  appendEnums(query, 'purchase_model', filter.purchaseModel, PurchaseModel);
  append(query, 'zone', filter.zone);
  append(query, 'fabric', filter.fabric);
  if (filter.rdmaReady !== undefined) query.set('rdma_ready', String(filter.rdmaReady));
  if (filter.eligible !== undefined) query.set('eligible', String(filter.eligible));
  return query;
}

function decode<Desc extends DescMessage>(
  schema: Desc,
  message: Uint8Array,
  format: WireFormat,
): MessageShape<Desc> {
  try {
    if (format === 'protobuf') return fromBinary(schema, message);
    // Unknown fields are refused as in the routes: a mistyped filter would be no filter.
    return fromJsonString(schema, new TextDecoder('utf-8', { fatal: true }).decode(message));
  } catch (cause) {
    throw malformed(format, schema.typeName, cause);
  }
}

function encode<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
  format: WireFormat,
): Uint8Array {
  return format === 'protobuf'
    ? toBinary(schema, message)
    : new TextEncoder().encode(toJsonString(schema, message));
}

function malformed(format: WireFormat, type: string, cause: unknown): MalformedBodyError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new MalformedBodyError(
    format === 'json' ? 'malformed_json' : 'malformed_protobuf',
    `The request cannot be read as ${type}: ${reason.slice(0, 300)}`,
    {},
    { cause },
  );
}

interface PushParts {
  readonly clusterId: string;
  /** As it was sent, for the route to read. */
  readonly snapshot: Uint8Array;
  readonly allowJump: boolean;
  readonly strict: boolean;
}

/** The snapshot of a push, sliced out of the request, so that it is decoded once, by its route. */
function pushParts(message: Uint8Array, format: WireFormat): PushParts {
  try {
    return format === 'protobuf' ? pushPartsOfProtobuf(message) : pushPartsOfJson(message);
  } catch (cause) {
    throw malformed(format, 'resourcemap.v1.PushSnapshotRequest', cause);
  }
}

function pushPartsOfProtobuf(message: Uint8Array): PushParts {
  const snapshots: Uint8Array[] = [];
  let allowJump = false;
  let strict = false;
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 1 && wireType === WireType.LengthDelimited) snapshots.push(reader.bytes());
    else if (field === 2 && wireType === WireType.Varint) allowJump = reader.bool();
    else if (field === 3 && wireType === WireType.Varint) strict = reader.bool();
    else reader.skip(wireType, field);
  }
  // Joined, repeated occurrences of a message are merged when they are read.
  const snapshot =
    snapshots.length === 1 && snapshots[0] !== undefined ? snapshots[0] : Buffer.concat(snapshots);
  return { clusterId: clusterIdOfSnapshot(snapshot), snapshot, allowJump, strict };
}

/** Field 1 of a snapshot is its cluster. */
function clusterIdOfSnapshot(snapshot: Uint8Array): string {
  const identities: Uint8Array[] = [];
  const reader = new BinaryReader(snapshot);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 1 && wireType === WireType.LengthDelimited) identities.push(reader.bytes());
    else reader.skip(wireType, field);
  }
  return fromBinary(ClusterIdentitySchema, Buffer.concat(identities)).clusterId;
}

function pushPartsOfJson(message: Uint8Array): PushParts {
  const { snapshot = {}, ...options } = object(
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(message)),
    'request',
  );
  const cluster = object(object(snapshot, 'snapshot').cluster ?? {}, 'snapshot.cluster');
  const clusterId = cluster.clusterId ?? cluster.cluster_id ?? '';
  if (typeof clusterId !== 'string') throw new Error('snapshot.cluster.clusterId is not a string');
  const flag = (json: string, proto: string): boolean => {
    const value = options[json] ?? options[proto] ?? false;
    if (typeof value !== 'boolean') throw new Error(`${json} is not true or false`);
    return value;
  };
  const unknown = Object.keys(options).find((name) => !['allowJump', 'allow_jump', 'strict'].includes(name));
  if (unknown !== undefined) throw new Error(`there is no field ${JSON.stringify(unknown.slice(0, 64))}`);
  return {
    clusterId,
    snapshot: new TextEncoder().encode(JSON.stringify(snapshot)),
    allowJump: flag('allowJump', 'allow_jump'),
    strict: flag('strict', 'strict'),
  };
}

function object(value: unknown, name: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new Error(`${name} is not an object`);
}
