/** The targets by the names that the command line has for them. */
import { join } from 'node:path';
import type { Target } from '../case.ts';
import { readSeed } from '../corpus.ts';

export const TARGET_NAMES = ['pipeline', 'service'] as const;
export type TargetName = (typeof TARGET_NAMES)[number];

/** Two real snapshots of other clusters, small enough to be spliced a hundred times a second. */
const NEIGHBOURS = ['upcloud-l40s-t0.json', 'viettel-l40s-t1.json'] as const;

/**
 * Loads no code but the target's own, or what it never runs would count as not reached.
 *
 * @param root of the project
 */
export async function targetOf(name: TargetName, root: string): Promise<Target> {
  if (name === 'service') return (await import('./service.ts')).serviceTarget();
  const { pipelineTarget } = await import('./pipeline.ts');
  return pipelineTarget(
    NEIGHBOURS.flatMap((file) => readSeed(join(root, 'test/data/snapshots', file))[0] ?? []),
  );
}
