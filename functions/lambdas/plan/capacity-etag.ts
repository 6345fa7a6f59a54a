/** The entity tag of GET /v1/capacity. */
import { createHash } from 'node:crypto';
import { toBinary } from '@bufbuild/protobuf';
import { type CapacityResponse, CapacityResponseSchema } from '../../gen/resourcemap/v1/capacity_pb.ts';
import type { CapacityQuery } from './capacity-query.ts';

/**
 * Over what was asked and what the rows say, without age, time and counter: a refresh that changed
 * nothing else leaves it as it is. It is weak, since those differ between responses of one tag.
 */
export function capacityEtag(query: CapacityQuery, response: CapacityResponse): string {
  const said: CapacityResponse = {
    ...response,
    targets: response.targets.map(({ age, collectedAt, ...row }) => ({ ...row, logicalCounter: 0n })),
    groups: response.groups.map(({ oldestAge, ...group }) => group),
  };
  const question = JSON.stringify(query, (_, value) => (typeof value === 'bigint' ? String(value) : value));
  return `W/"${createHash('sha256')
    .update(question)
    .update('\n')
    .update(toBinary(CapacityResponseSchema, said))
    .digest('base64url')}"`;
}
