/** Requests as clients write them, in JSON, through the decoder of the API. */
import {
  type ParsedPlanRequest,
  type ParsedValidateRequest,
  readPlanRequest,
  readValidateRequest,
} from '../../../../functions/core/bundle/wire/read-request.ts';
import { ResourceMapError } from '../../../../functions/core/errors.ts';
import { decodeMessage } from '../../../../functions/core/snapshot/decode.ts';
import { ValidateBundleRequestSchema } from '../../../../functions/gen/resourcemap/bundle/v1/bundle_pb.ts';
import { PlanRequestSchema } from '../../../../functions/gen/resourcemap/bundle/v1/plan_pb.ts';

const bytesOf = (json: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(json));

export function validateRequest(json: unknown): ParsedValidateRequest {
  return readValidateRequest(decodeMessage(ValidateBundleRequestSchema, bytesOf(json), 'json'));
}

export function planRequestFrom(json: unknown): ParsedPlanRequest {
  return readPlanRequest(decodeMessage(PlanRequestSchema, bytesOf(json), 'json'));
}

/** `path: message` of every fault that the reading throws. */
export function faultsOf(read: () => unknown): readonly string[] {
  try {
    read();
  } catch (error) {
    if (!(error instanceof ResourceMapError)) throw error;
    return (error.details.findings ?? []).map(({ path, message }) => `${path}: ${message}`);
  }
  return [];
}
