/** The descriptions of all routes of the API, which stand beside the routes themselves. */
import { ABOUT_OPERATIONS } from '../lambdas/about/operations.ts';
import { ACCESS_OPERATIONS } from '../lambdas/access/operations.ts';
import { MAP_OPERATIONS } from '../lambdas/map/operations.ts';
import { BUNDLE_OPERATIONS } from '../lambdas/plan/operations-bundle.ts';
import { CAPACITY_OPERATIONS } from '../lambdas/plan/operations-capacity.ts';
import { CLAIM_OPERATIONS } from '../lambdas/plan/operations-claims.ts';
import { POOL_OPERATIONS } from '../lambdas/plan/operations-pools.ts';
import { STORED_BUNDLE_OPERATIONS } from '../lambdas/plan/operations-stored-bundles.ts';
import { PUSH_OPERATIONS } from '../lambdas/push/operations.ts';
import type { Operations } from './operation.ts';

export const OPERATIONS: Operations = {
  ...PUSH_OPERATIONS,
  ...MAP_OPERATIONS,
  ...CAPACITY_OPERATIONS,
  ...BUNDLE_OPERATIONS,
  ...STORED_BUNDLE_OPERATIONS,
  ...CLAIM_OPERATIONS,
  ...POOL_OPERATIONS,
  ...ACCESS_OPERATIONS,
  ...ABOUT_OPERATIONS,
};
