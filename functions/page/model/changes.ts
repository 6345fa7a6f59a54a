/** What changed between two lists of clusters, in words. */
import type { ClusterStatus, Refusal } from '../api/types.ts';
import { countText, plural } from '../text/format.ts';
import { isOut, outText } from './clusters.ts';

export type ChangeKind = 'new' | 'returned' | 'out' | 'gone' | 'content' | 'warnings' | 'refused';

export interface Change {
  readonly kind: ChangeKind;
  readonly clusterId: string;
  readonly text: string;
}

/** What was seen of every cluster, in whichever list. */
export class SeenClusters {
  readonly #seen = new Map<string, ClusterStatus>();
  /** Whether it has every cluster that there is. */
  #all = false;

  /**
   * What is different in a list.
   *
   * @param all whether it is of all clusters: then one that was not seen is new, and one that is missing is gone
   */
  listed(list: readonly ClusterStatus[], all: boolean): readonly Change[] {
    const hadAll = this.#all;
    this.#all = all;
    const changes = list.flatMap((after) => {
      const before = this.#see(after);
      return before !== undefined || (hadAll && all) ? changesOf(before, after) : [];
    });
    if (!all) return changes;
    const ids = new Set(list.map(({ cluster }) => cluster.clusterId));
    for (const clusterId of [...this.#seen.keys()].filter((id) => !ids.has(id))) {
      this.#seen.delete(clusterId);
      if (hadAll)
        changes.push({ kind: 'gone', clusterId, text: 'is no longer listed: only its counter is kept' });
    }
    return changes;
  }

  /** What is different in clusters of which the service says that they changed. */
  changed(list: readonly ClusterStatus[]): readonly Change[] {
    return list.flatMap((after) => {
      const before = this.#see(after);
      return before === undefined ? [firstSight(after)] : changesOf(before, after);
    });
  }

  #see(after: ClusterStatus): ClusterStatus | undefined {
    const { clusterId } = after.cluster;
    const before = this.#seen.get(clusterId);
    this.#seen.set(clusterId, after);
    return before;
  }
}

/** Of a cluster that changed before it was on the page: what it was is not known here. */
function firstSight(after: ClusterStatus): Change {
  const { clusterId } = after.cluster;
  const { lastRefusal } = after;
  if (lastRefusal !== undefined) return { kind: 'refused', clusterId, text: refusalText(lastRefusal) };
  if (isOut(after)) return { kind: 'out', clusterId, text: outChange(after) };
  const free = after.accelerators.map((each) => `${countText(each.free)} free ${nameOf(each.model)}`);
  return { kind: 'content', clusterId, text: `has new content: ${free.join(', ') || 'no accelerators'}` };
}

function outChange(after: ClusterStatus): string {
  return `is not in the map (${outText(after)}); what it has is unknown`;
}

function refusalText({ code, message }: Refusal): string {
  return `has a refused agent: ${code}: ${message}`;
}

function nameOf(model: string): string {
  return model === '' ? '(no model)' : model;
}

function changesOf(before: ClusterStatus | undefined, after: ClusterStatus): Change[] {
  const { clusterId } = after.cluster;
  const changes: Change[] = [];
  const add = (kind: ChangeKind, text: string): void => void changes.push({ kind, clusterId, text });
  if (before === undefined) {
    add('new', isOut(after) ? `is new, and not in the map (${outText(after)})` : 'is new in the map');
  } else if (isOut(after)) {
    if (!isOut(before)) add('out', outChange(after));
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
    add('refused', refusalText(lastRefusal));
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
    const name = nameOf(model);
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
