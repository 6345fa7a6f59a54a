/**
 * The facts of pools and node types of a stored body, without decoding the rest of it. They are wanted
 * of the previous body whenever a push brings new content, and what a body is mostly made
 * of, occupancy and jobs, says nothing about them.
 */
import { BinaryReader, type WireType } from '@bufbuild/protobuf/wire';
import {
  CapacityPoolSchema,
  ClusterResourceMapSchema,
  HourlyPriceSchema,
  NodeTypeCapacitySchema,
} from '../../../gen/resourcemap/v1/resource_map_pb.ts';
import type { CapacityFacts, NodeTypeFacts } from './node-type-succession.ts';

const { capacityPools } = ClusterResourceMapSchema.field;
const { id: poolId, nodeTypes } = CapacityPoolSchema.field;
const {
  id: nodeTypeId,
  acceleratorModel,
  acceleratorsPerNode,
  totalCount,
  pricePerNodeHour,
  purchaseModel,
} = NodeTypeCapacitySchema.field;
const { currencyCode } = HourlyPriceSchema.field;

/**
 * The facts of every node type, in the order of the body. The body is one that the service
 * encoded: each singular field occurs once.
 *
 * @throws Error where the bytes are no Protobuf message
 */
export function capacityFactsOfContent(body: Uint8Array): CapacityFacts {
  const poolIds: string[] = [];
  const nodeTypes: NodeTypeFacts[] = [];
  readFields(body, (field, reader) => {
    if (field !== capacityPools.number) return false;
    const pool = readPool(reader.bytes(), `capacity_pools[${poolIds.length}]`);
    poolIds.push(pool.id);
    nodeTypes.push(...pool.nodeTypes);
    return true;
  });
  return { poolIds, nodeTypes };
}

function readPool(bytes: Uint8Array, path: string): { id: string; nodeTypes: readonly NodeTypeFacts[] } {
  let id = '';
  const types: Omit<NodeTypeFacts, 'poolId'>[] = [];
  readFields(bytes, (field, reader) => {
    if (field === poolId.number) id = reader.string();
    else if (field === nodeTypes.number)
      types.push(readNodeType(reader.bytes(), `${path}.node_types[${types.length}]`));
    else return false;
    return true;
  });
  return { id, nodeTypes: types.map((type) => ({ ...type, poolId: id })) };
}

function readNodeType(bytes: Uint8Array, path: string): Omit<NodeTypeFacts, 'poolId'> {
  const facts = {
    nodeTypeId: '',
    path,
    acceleratorModel: '',
    acceleratorsPerNode: 0,
    totalCount: 0,
    currencyCode: undefined as string | undefined,
    purchaseModel: 0,
  };
  readFields(bytes, (field, reader) => {
    if (field === nodeTypeId.number) facts.nodeTypeId = reader.string();
    else if (field === acceleratorModel.number) facts.acceleratorModel = reader.string();
    else if (field === acceleratorsPerNode.number) facts.acceleratorsPerNode = reader.uint32();
    else if (field === totalCount.number) facts.totalCount = reader.uint32();
    else if (field === pricePerNodeHour.number) facts.currencyCode = readCurrency(reader.bytes());
    else if (field === purchaseModel.number) facts.purchaseModel = reader.int32();
    else return false;
    return true;
  });
  return facts;
}

function readCurrency(bytes: Uint8Array): string {
  let code = '';
  readFields(bytes, (field, reader) => {
    if (field !== currencyCode.number) return false;
    code = reader.string();
    return true;
  });
  return code;
}

/** Offers each field of a message to `take`, which reads it or returns false to have it skipped. */
function readFields(bytes: Uint8Array, take: (field: number, reader: BinaryReader) => boolean): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wireType]: [number, WireType] = reader.tag();
    if (!take(field, reader)) reader.skip(wireType, field);
  }
}
