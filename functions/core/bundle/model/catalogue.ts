/**
 * What instance types offer beyond their accelerators: the map does not say, so the
 * operator does. What neither says is unknown, and nothing is concluded from it.
 */
import { AWS_ACCELERATOR_CORES } from './aws-accelerator-cores.ts';
import { GCP_ACCELERATOR_CORES } from './gcp-accelerator-cores.ts';

/** What is known of one instance type. */
export interface InstanceTypeFacts {
  /** Score against the reference workload. Absent: unknown. */
  readonly totalCapacity?: number | undefined;
  /** Absent: unknown. */
  readonly totalCores?: number | undefined;
}

/** By instance type, as the map writes it. */
export type InstanceCatalogue = ReadonlyMap<string, InstanceTypeFacts>;

/**
 * Cores of the accelerator instances of AWS and Google Cloud, whose names differ; capacities of none.
 *
 * @example
 * ```ts
 * import { BUILT_IN_CATALOGUE } from '@resource-map/client/bundle';
 *
 * console.log(BUILT_IN_CATALOGUE.get('p5.48xlarge')?.totalCores);
 * ```
 */
export const BUILT_IN_CATALOGUE: InstanceCatalogue = new Map(
  [...AWS_ACCELERATOR_CORES, ...GCP_ACCELERATOR_CORES].map(([instanceType, totalCores]) => [
    instanceType,
    { totalCores },
  ]),
);

/**
 * The built-in entries with the operator's over them, field by field.
 *
 * @example
 * ```ts
 * import { catalogueWith } from '@resource-map/client/bundle';
 *
 * const catalogue = catalogueWith([['p5.48xlarge', { totalCapacity: 400 }]]);
 * ```
 */
export function catalogueWith(
  entries: Iterable<readonly [instanceType: string, facts: InstanceTypeFacts]>,
): InstanceCatalogue {
  const catalogue = new Map(BUILT_IN_CATALOGUE);
  for (const [instanceType, facts] of entries) {
    const known = catalogue.get(instanceType);
    catalogue.set(instanceType, {
      totalCapacity: facts.totalCapacity ?? known?.totalCapacity,
      totalCores: facts.totalCores ?? known?.totalCores,
    });
  }
  return catalogue;
}
