/** From a case to another one that is a little different. */
import { ClusterResourceMapSchema } from '../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import type { Case } from './case.ts';
import { mutateBytes } from './mutate-bytes.ts';
import { mutateJson } from './mutate-json.ts';
import { mutateProtobuf } from './mutate-protobuf.ts';
import type { Random } from './random.ts';

/** Of a mutated case: three times the largest seed, so that duplicating cannot grow forever. */
export const MAX_CASE_BYTES = 96 * 1024;

/** How often bytes are changed with no thought for what they mean. */
const BLIND = 0.25;

/** @param other a case of the same format, to take parts of */
export function mutate(input: Case, other: Case, random: Random): Case {
  let { bytes } = input;
  for (let left = random.few(); left > 0; left--) {
    const blind = random.chance(BLIND);
    const mutated = blind
      ? undefined
      : input.format === 'json'
        ? mutateJson(bytes, other.bytes, random)
        : mutateProtobuf(ClusterResourceMapSchema, bytes, other.bytes, random);
    bytes = (mutated ?? mutateBytes(bytes, other.bytes, random)).subarray(0, MAX_CASE_BYTES);
  }
  return { format: input.format, bytes };
}
