/**
 * A head as a DynamoDB item and back. The item stays under one kilobyte however many
 * accelerator models a cluster has, since a larger one costs two write units at every
 * push: as many models are kept as fit. Only texts at their limits in every field of the
 * identity can make it larger, which costs that cluster its second unit and nobody else.
 */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { AcceleratorTotals } from '../core/snapshot/accelerators.ts';
import { type Loss, NO_LOSS } from '../core/snapshot/rules/index.ts';
import {
  AcceleratorCountSchema,
  type ClusterStatus,
  ClusterStatusSchema,
  type Finding,
  FindingSchema,
} from '../gen/resourcemap/v1/service_pb.ts';
import type { Head, Tombstone } from './head.ts';

export type Item = Record<string, AttributeValue>;

/** Attribute names of a head. They count towards the item's size at every read and write, so they are short. */
export const HEAD_ATTRIBUTES = {
  highWater: 'highWater',
  omittedReason: 'omitted',
  omittedAt: 'omittedAt',
  collectedAt: 'collected',
  receivedAt: 'received',
  observedAt: 'observed',
  /**
   * Absent where the content came with the present counter. The stream's filter, which can
   * compare no two attributes, tells by that whether a push changed anything.
   */
  sinceCounter: 'sinceCounter',
  sinceAt: 'sinceAt',
  contentId: 'bodyId',
  parts: 'parts',
  rawBytes: 'raw',
  storedBytes: 'stored',
  crc32: 'crc32',
  storedCrc32: 'storedCrc',
  expiresAt: 'bodyUntil',
  displayName: 'name',
  provider: 'provider',
  region: 'region',
  site: 'site',
  accelerators: 'accel',
  warnings: 'warnings',
} as const;

/** DynamoDB bills writes in units of 1,024 bytes. */
export const WRITE_UNIT_BYTES = 1_024;

/** A restored or hand-made item that is no head: its cluster is left out of the map, loudly. */
export class UnreadableHeadError extends Error {
  override readonly name = 'UnreadableHeadError';

  constructor(
    readonly clusterId: string,
    attribute: string,
  ) {
    super(`The head of cluster ${JSON.stringify(clusterId)} has no readable attribute "${attribute}".`);
  }
}

/** The item of a head, with as many accelerator models as leave it within {@link WRITE_UNIT_BYTES}. */
export function headToItem(head: Head, partition: string): Item {
  const a = HEAD_ATTRIBUTES;
  const item: Item = {
    shard: { S: partition },
    clusterId: { S: head.clusterId },
    [a.highWater]: { N: String(head.highWater) },
    [a.collectedAt]: { N: String(head.collectedAtNanos) },
    [a.receivedAt]: { N: String(head.receivedAtMs) },
    [a.sinceAt]: { N: String(head.contentSince.atMs) },
    [a.contentId]: { B: Buffer.from(head.body.contentId, 'hex') },
    [a.parts]: { N: String(head.body.parts) },
    [a.rawBytes]: { N: String(head.body.rawBytes) },
    [a.storedBytes]: { N: String(head.body.storedBytes) },
    [a.crc32]: { N: String(head.body.crc32) },
    [a.storedCrc32]: { N: String(head.body.storedCrc32) },
    [a.expiresAt]: { N: String(head.body.expiresAtS) },
  };
  if (head.contentSince.counter !== head.highWater) {
    item[a.sinceCounter] = { N: String(head.contentSince.counter) };
  }
  if (head.observedAtMs !== undefined) item[a.observedAt] = { N: String(head.observedAtMs) };
  if (head.warnings > 0) item[a.warnings] = { N: String(head.warnings) };
  if (head.omission !== undefined) {
    item[a.omittedReason] = { S: head.omission.reason };
    item[a.omittedAt] = { N: String(head.omission.atMs) };
  }
  for (const [attribute, text] of [
    [a.provider, head.identity.provider],
    [a.region, head.identity.region],
    [a.site, head.identity.site],
    [a.displayName, head.identity.displayName],
  ] as const) {
    if (text !== '') item[attribute] = { S: text };
  }
  const room = WRITE_UNIT_BYTES - itemBytes(item) - a.accelerators.length;
  item[a.accelerators] = { B: encodeAccelerators(head, room) };
  return item;
}

/** @throws UnreadableHeadError */
export function headFromItem(item: Item): Head {
  const a = HEAD_ATTRIBUTES;
  const clusterId = item.clusterId?.S ?? '';
  const text = (attribute: string): string => item[attribute]?.S ?? '';
  const integer = (attribute: string): bigint => {
    const value = item[attribute]?.N;
    if (value === undefined || !/^-?\d+$/.test(value)) throw new UnreadableHeadError(clusterId, attribute);
    return BigInt(value);
  };
  const count = (attribute: string): number => Number(integer(attribute));
  const contentId = item[a.contentId]?.B;
  if (contentId === undefined) throw new UnreadableHeadError(clusterId, a.contentId);
  const summary = decodeAccelerators(clusterId, item[a.accelerators]?.B);
  return {
    clusterId,
    highWater: integer(a.highWater),
    ...(item[a.omittedReason] === undefined
      ? {}
      : { omission: { reason: text(a.omittedReason), atMs: count(a.omittedAt) } }),
    collectedAtNanos: integer(a.collectedAt),
    ...(item[a.observedAt] === undefined ? {} : { observedAtMs: count(a.observedAt) }),
    receivedAtMs: count(a.receivedAt),
    contentSince: {
      counter: integer(item[a.sinceCounter] === undefined ? a.highWater : a.sinceCounter),
      atMs: count(a.sinceAt),
    },
    body: {
      contentId: Buffer.from(contentId).toString('hex'),
      parts: count(a.parts),
      rawBytes: count(a.rawBytes),
      storedBytes: count(a.storedBytes),
      crc32: count(a.crc32),
      storedCrc32: count(a.storedCrc32),
      expiresAtS: count(a.expiresAt),
    },
    identity: {
      displayName: text(a.displayName),
      provider: text(a.provider),
      region: text(a.region),
      site: text(a.site),
    },
    accelerators: summary.accelerators.map(({ model, total, free, unavailable }) => ({
      model,
      total,
      free,
      unavailable,
    })),
    omittedModels: summary.omittedAcceleratorModels,
    warnings: item[a.warnings] === undefined ? 0 : count(a.warnings),
    ...lossFromStatus(summary),
  };
}

/** Of pool ids in a head; what is left of its one kilobyte is the accelerators'. */
const MAX_GONE_ID_BYTES = 256;

/** A loss as the status message has warnings, each with no more than its own value as message. */
function lossToStatus({
  emptiedNodes,
  goneCount,
  goneIds,
}: Loss): Pick<ClusterStatus, 'warnings'> & Partial<Pick<ClusterStatus, 'warningCount'>> {
  if (emptiedNodes > 0) {
    return { warnings: [create(FindingSchema, { code: 'snapshot_emptied', message: `${emptiedNodes}` })] };
  }
  const warnings: Finding[] = [];
  let bytes = 0;
  for (const message of goneIds) {
    bytes += Buffer.byteLength(message);
    if (bytes > MAX_GONE_ID_BYTES) break;
    warnings.push(create(FindingSchema, { message }));
  }
  return { warningCount: goneCount, warnings };
}

function lossFromStatus({ warningCount, warnings }: ClusterStatus): { readonly loss?: Loss } {
  const [first] = warnings;
  if (first?.code === 'snapshot_emptied')
    return { loss: { ...NO_LOSS, emptiedNodes: Number(first.message) } };
  if (warningCount === 0) return {};
  return { loss: { ...NO_LOSS, goneCount: warningCount, goneIds: warnings.map(({ message }) => message) } };
}

/** The mark that a retired head leaves in its partition. */
export function tombstoneToItem(mark: Tombstone, partition: string): Item {
  const a = HEAD_ATTRIBUTES;
  return {
    shard: { S: partition },
    clusterId: { S: mark.clusterId },
    [a.highWater]: { N: String(mark.highWater) },
    [a.collectedAt]: { N: String(mark.collectedAtNanos) },
    [a.contentId]: { B: Buffer.from(mark.contentId, 'hex') },
  };
}

/** @throws UnreadableHeadError */
export function tombstoneFromItem(item: Item): Tombstone {
  const a = HEAD_ATTRIBUTES;
  const clusterId = item.clusterId?.S ?? '';
  const highWater = item[a.highWater]?.N;
  const collectedAt = item[a.collectedAt]?.N;
  const contentId = item[a.contentId]?.B;
  if (highWater === undefined) throw new UnreadableHeadError(clusterId, a.highWater);
  if (collectedAt === undefined) throw new UnreadableHeadError(clusterId, a.collectedAt);
  if (contentId === undefined) throw new UnreadableHeadError(clusterId, a.contentId);
  return {
    clusterId,
    highWater: BigInt(highWater),
    collectedAtNanos: BigInt(collectedAt),
    contentId: Buffer.from(contentId).toString('hex'),
  };
}

/**
 * Size of an item as DynamoDB counts it, for the types that a head has: names and
 * strings by UTF-8 bytes, binary by bytes, numbers by significant digits (two a
 * byte, one byte more, one for the sign), here rounded up.
 */
export function itemBytes(item: Item): number {
  let bytes = 0;
  for (const [name, value] of Object.entries(item)) {
    bytes += Buffer.byteLength(name);
    if (value.S !== undefined) bytes += Buffer.byteLength(value.S);
    else if (value.B !== undefined) bytes += value.B.length;
    else if (value.N !== undefined) bytes += Math.ceil(value.N.length / 2) + 2;
  }
  return bytes;
}

/**
 * Accelerators as one binary attribute: ten bytes a model beside its name, where a
 * DynamoDB list of maps takes fifty. The message is the status message, so that a
 * protobuf tool reads it.
 */
function encodeAccelerators({ accelerators, omittedModels, loss }: Head, room: number): Uint8Array {
  const keptLoss = loss === undefined ? {} : lossToStatus(loss);
  const encode = (kept: readonly AcceleratorTotals[]): Uint8Array =>
    toBinary(
      ClusterStatusSchema,
      create(ClusterStatusSchema, {
        accelerators: kept.map((c) =>
          create(AcceleratorCountSchema, {
            model: c.model,
            total: c.total,
            free: c.free,
            unavailable: c.unavailable,
          }),
        ),
        omittedAcceleratorModels: omittedModels + accelerators.length - kept.length,
        ...keptLoss,
      }),
    );
  let kept = accelerators;
  let bytes = encode(kept);
  while (bytes.length > room && kept.length > 0) {
    // Halving first keeps ten thousand models from costing ten thousand encodings.
    kept = kept.slice(
      0,
      bytes.length > 4 * Math.max(room, 1) ? Math.floor(kept.length / 2) : kept.length - 1,
    );
    bytes = encode(kept);
  }
  return bytes;
}

function decodeAccelerators(clusterId: string, bytes: Uint8Array | undefined): ClusterStatus {
  if (bytes === undefined) return create(ClusterStatusSchema);
  try {
    return fromBinary(ClusterStatusSchema, bytes);
  } catch {
    throw new UnreadableHeadError(clusterId, HEAD_ATTRIBUTES.accelerators);
  }
}
