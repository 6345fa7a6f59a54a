/** What the routes of bundles take and answer, for the OpenAPI document. */
import {
  ValidateBundleRequestSchema,
  ValidationResultSchema,
} from '../../gen/resourcemap/bundle/v1/bundle_pb.ts';
import { PlanRequestSchema, PlanResponseSchema } from '../../gen/resourcemap/bundle/v1/plan_pb.ts';
import { LARGE_HEADERS, type Operations } from '../../openapi/operation.ts';

const BUNDLE = {
  bundleId: 'b1',
  pool: 'h100',
  jobs: [
    {
      jobName: 'train',
      requirements: {
        requiredCapabilities: [{ name: 'resource-map/accelerator', count: 8 }],
        priorityBand: 'gold',
      },
    },
  ],
};

export const BUNDLE_OPERATIONS = {
  'POST /v1/bundles/validate': {
    id: 'validateBundle',
    tag: 'bundles',
    summary: 'Ask whether a bundle can ever be placed',
    description:
      'What no node that there is or can be will ever hold is an error; what one that joins could put right is a ' +
      'warning. Pools in the request are taken instead of the configured ones, and the map is then not read.',
    headers: ['AcceptEncoding'],
    body: ValidateBundleRequestSchema,
    example: { bundle: BUNDLE },
    responses: {
      200: {
        description: 'All findings; a bundle that can never be placed is no error here.',
        body: ValidationResultSchema,
        headers: LARGE_HEADERS,
      },
    },
    problems: ['invalid_bundle_request', 'map_too_large'],
  },
  'POST /v1/bundles/plan': {
    id: 'planBundles',
    tag: 'bundles',
    summary: 'Ask where bundles would land now',
    description:
      'Bundles are placed one after the other, each on what those before it have left. Pools and nodes in the request ' +
      'are taken instead of the configured pools and the map. Live claims come first, as demand does. Nothing is reserved.',
    query: [
      {
        name: 'claims',
        description: 'Whether what live claims hold is subtracted, which it is as a rule.',
        schema: { type: 'string', enum: ['subtract', 'ignore'] },
      },
    ],
    headers: ['AcceptEncoding'],
    body: PlanRequestSchema,
    example: { bundles: [BUNDLE] },
    responses: {
      200: {
        description: 'One plan a bundle, or why there is none.',
        body: PlanResponseSchema,
        headers: LARGE_HEADERS,
      },
    },
    problems: ['invalid_bundle_request', 'map_too_large'],
  },
} as const satisfies Operations;
