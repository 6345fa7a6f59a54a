/**
 * Canonical form: two snapshots that say the same in another order have the same
 * body, byte for byte, and so the same digest. Agents list things as they come to
 * hand, and in most languages a map has another order in every process.
 */
import {
  type DescField,
  type DescMessage,
  type Message,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import {
  CapacityPoolSchema,
  ChainStateSchema,
  type ClusterResourceMap,
  ClusterResourceMapSchema,
  JobStateSchema,
  NodeOccupancySchema,
  NodeTypeCapacitySchema,
  RankStateSchema,
  TopologyMapSchema,
} from '../../gen/resourcemap/v1/resource_map_pb.ts';

type Key = string | number;
type KeysOf<M> = (element: M) => readonly Key[];

/** How a repeated field is brought into order. No keys: by the elements' own encoding, as a multiset. */
interface Order {
  readonly field: DescField;
  readonly keys: KeysOf<Message>;
}

function by<M extends Message>(field: DescField, keys: KeysOf<M>): Order {
  // The element type is the field's; the descriptor cannot tell the compiler so.
  return { field, keys: keys as unknown as KeysOf<Message> };
}

/**
 * Every repeated message field whose order says nothing. Elements with equal keys
 * (the rules refuse most of them) are ordered by their encoding.
 */
export const CANONICAL_ORDERS: readonly Order[] = [
  by<MessageShape<typeof CapacityPoolSchema>>(ClusterResourceMapSchema.field.capacityPools, (p) => [p.id]),
  by<MessageShape<typeof JobStateSchema>>(ClusterResourceMapSchema.field.jobs, (j) => [j.jobId]),
  by<ClusterResourceMap['installedComponents'][number]>(
    ClusterResourceMapSchema.field.installedComponents,
    (c) => [c.name, c.version],
  ),
  by<ClusterResourceMap['apiResources'][number]>(ClusterResourceMapSchema.field.apiResources, (r) => [
    r.group,
    r.kind,
  ]),
  by<MessageShape<typeof NodeTypeCapacitySchema>>(CapacityPoolSchema.field.nodeTypes, (t) => [t.id]),
  by(NodeTypeCapacitySchema.field.inUse, () => []),
  by<MessageShape<typeof NodeTypeCapacitySchema>['reservedForAutoscaling'][number]>(
    NodeTypeCapacitySchema.field.reservedForAutoscaling,
    (r) => [r.jobId, r.rankId],
  ),
  by<MessageShape<typeof NodeOccupancySchema>['allocations'][number]>(
    NodeOccupancySchema.field.allocations,
    (a) => [a.jobId, a.rankId, a.chainId, a.podIndex],
  ),
  by<MessageShape<typeof RankStateSchema>>(JobStateSchema.field.ranks, (r) => [r.rankId]),
  by<MessageShape<typeof ChainStateSchema>>(RankStateSchema.field.chains, (c) => [c.chainId]),
  by<MessageShape<typeof ChainStateSchema>['pods'][number]>(ChainStateSchema.field.pods, (p) => [p.podIndex]),
  by<MessageShape<typeof TopologyMapSchema>['fabrics'][number]>(TopologyMapSchema.field.fabrics, (f) => [
    f.id,
  ]),
  by<MessageShape<typeof TopologyMapSchema>['links'][number]>(TopologyMapSchema.field.links, (l) => [
    l.fromFabricId,
    l.toFabricId,
  ]),
];

const orderOf = new Map(CANONICAL_ORDERS.map((order) => [order.field, order.keys]));

/**
 * Encodes what a snapshot says, without when it said it: `collected_at` and
 * `logical_counter` are left out, everything else is in canonical order. Unknown
 * fields are kept, by field number. Reorders the given message in place.
 */
export function encodeContent(snapshot: ClusterResourceMap): Uint8Array {
  orderMessage(ClusterResourceMapSchema, snapshot);
  return toBinary(ClusterResourceMapSchema, {
    ...snapshot,
    collectedAt: undefined,
    logicalCounter: 0n,
  } as ClusterResourceMap);
}

type Step = (message: Message) => void;
const stepsOf = new Map<DescMessage, readonly Step[]>();

function orderMessage(desc: DescMessage, message: Message): void {
  for (const step of stepsFor(desc)) step(message);
  if (message.$unknown !== undefined && message.$unknown.length > 1) {
    message.$unknown.sort((a, b) => a.no - b.no);
  }
}

/** Only the fields that hold something to order; compiled once a message type, since a snapshot has many messages of few types. */
function stepsFor(desc: DescMessage): readonly Step[] {
  const known = stepsOf.get(desc);
  if (known !== undefined) return known;
  const steps: Step[] = [];
  stepsOf.set(desc, steps);
  for (const field of desc.fields) {
    const name = field.localName;
    if (field.fieldKind === 'message') {
      const child = field.message;
      steps.push((message) => {
        const value = read(message, name) as Message | undefined;
        if (value !== undefined) orderMessage(child, value);
      });
    } else if (field.fieldKind === 'list' && field.listKind === 'message') {
      const child = field.message;
      const keys = orderOf.get(field);
      steps.push((message) => {
        const list = read(message, name) as Message[];
        for (const element of list) orderMessage(child, element);
        if (keys !== undefined && list.length > 1) orderList(child, list, keys);
      });
    } else if (field.fieldKind === 'map') {
      steps.push((message) => {
        const map = read(message, name) as Record<string, unknown>;
        // Object.fromEntries defines properties, so a key `__proto__` stays a key.
        write(message, name, Object.fromEntries(Object.entries(map).sort(([a], [b]) => compareKeys(a, b))));
      });
    }
  }
  return steps;
}

function read(message: Message, localName: string): unknown {
  return (message as unknown as Record<string, unknown>)[localName];
}

function write(message: Message, localName: string, value: unknown): void {
  (message as unknown as Record<string, unknown>)[localName] = value;
}

function orderList(desc: DescMessage, list: Message[], keysOf: KeysOf<Message>): void {
  const encodings = new Map<Message, Uint8Array>();
  const encodingOf = (element: Message): Uint8Array => {
    let bytes = encodings.get(element);
    if (bytes === undefined) {
      bytes = toBinary(desc, element);
      encodings.set(element, bytes);
    }
    return bytes;
  };
  list.sort((a, b) => {
    const left = keysOf(a);
    const right = keysOf(b);
    for (const [i, key] of left.entries()) {
      const order = compareKeys(key, right[i] ?? key);
      if (order !== 0) return order;
    }
    return Buffer.compare(encodingOf(a), encodingOf(b));
  });
}

function compareKeys(a: Key, b: Key): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
