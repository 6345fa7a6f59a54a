import { toJsonString } from '@bufbuild/protobuf';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
} from '../../gen/resourcemap/v1/resource_map_pb.ts';

/**
 * The members of a body's ProtoJSON object, each with a comma before it: `,"cluster":{…},…`.
 * In this form they can follow `"collectedAt"` and `"logicalCounter"`, which every response
 * writes again, and an empty body is no special case.
 * @param body without `collected_at` and `logical_counter`
 * @returns UTF-8
 */
export function jsonMembers(body: ClusterResourceMap): Uint8Array {
  const object = toJsonString(ClusterResourceMapSchema, body);
  const members = object.slice(1, -1);
  return Buffer.from(members === '' ? '' : `,${members}`, 'utf8');
}
