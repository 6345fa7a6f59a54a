/** The descriptions of all routes of the API, which stand beside the routes themselves. */
import { ABOUT_OPERATIONS } from '../about/operations.ts';
import { ACCESS_OPERATIONS } from '../access/operations.ts';
import { MAP_OPERATIONS } from '../map/operations.ts';
import { BUNDLE_OPERATIONS } from '../plan/operations-bundle.ts';
import { CAPACITY_OPERATIONS } from '../plan/operations-capacity.ts';
import { POOL_OPERATIONS } from '../plan/operations-pools.ts';
import { PUSH_OPERATIONS } from '../push/operations.ts';
import type { Operations } from './operation.ts';

export const OPERATIONS: Operations = {
  ...PUSH_OPERATIONS,
  ...MAP_OPERATIONS,
  ...CAPACITY_OPERATIONS,
  ...BUNDLE_OPERATIONS,
  ...POOL_OPERATIONS,
  ...ACCESS_OPERATIONS,
  ...ABOUT_OPERATIONS,
};
