/** What changed between two lists of clusters, in words. */
import type { ClusterStatus } from '../api/types.ts';
import { countText, plural } from '../text/format.ts';
import { isOut, outText } from './clusters.ts';

export type ChangeKind = 'new' | 'returned' | 'out' | 'gone' | 'content' | 'warnings' | 'refused';

export interface Change {
  readonly kind: ChangeKind;
  readonly clusterId: string;
  readonly text: string;
}

/** @param before, after lists of all clusters, one poll apart */
export function changesBetween(
  before: readonly ClusterStatus[],
  after: readonly ClusterStatus[],
): readonly Change[] {
  const old = new Map(before.map((each) => [each.cluster.clusterId, each]));
  const changes = after.flatMap((each) => {
    const known = old.get(each.cluster.clusterId);
    old.delete(each.cluster.clusterId);
    return changesOf(known, each);
  });
  for (const clusterId of old.keys()) {
    changes.push({ kind: 'gone', clusterId, text: 'is no longer listed: only its counter is kept' });
  }
  return changes;
}

function changesOf(before: ClusterStatus | undefined, after: ClusterStatus): Change[] {
  const { clusterId } = after.cluster;
  const changes: Change[] = [];
  const add = (kind: ChangeKind, text: string): void => void changes.push({ kind, clusterId, text });
  if (before === undefined) {
    add('new', isOut(after) ? `is new, and not in the map (${outText(after)})` : 'is new in the map');
  } else if (isOut(after)) {
    if (!isOut(before)) add('out', `is not in the map (${outText(after)}); what it has is unknown`);
  } else {
    if (isOut(before)) add('returned', 'is back in the map');
    if (before.contentSinceCounter !== after.contentSinceCounter) add('content', contentText(before, after));
    if (before.warningCount !== after.warningCount) {
      add(
        'warnings',
        after.warningCount === 0
          ? 'has no warnings any more'
          : `has ${plural(after.warningCount, 'warning')}`,
      );
    }
  }
  const { lastRefusal } = after;
  if (lastRefusal !== undefined && lastRefusal.at !== before?.lastRefusal?.at) {
    add('refused', `has a refused agent: ${lastRefusal.code}: ${lastRefusal.message}`);
  }
  return changes;
}

function contentText(before: ClusterStatus, after: ClusterStatus): string {
  const models = new Set([...before.accelerators, ...after.accelerators].map(({ model }) => model));
  const parts = [...models].flatMap((model) => {
    const [was, is] = [before, after].map((status) =>
      status.accelerators.find((each) => each.model === model),
    );
    const freed = BigInt(is?.free ?? 0) - BigInt(was?.free ?? 0);
    const added = BigInt(is?.total ?? 0) - BigInt(was?.total ?? 0);
    const name = model === '' ? '(no model)' : model;
    return [
      ...(freed === 0n ? [] : [`${signed(freed)} free ${name}`]),
      ...(added === 0n ? [] : [`${signed(added)} ${name}`]),
    ];
  });
  return parts.length === 0 ? 'has new content, with as much free as before' : parts.join(', ');
}

function signed(difference: bigint): string {
  return `${difference > 0n ? '+' : '−'}${countText(difference < 0n ? -difference : difference)}`;
}
