/** What is left in each cluster of each model, as metrics: the figures of GET /v1/capacity. */

import { volume } from '../../core/capacity/view/histogram.ts';
import { deficitOf } from '../../core/capacity/view/served-demand.ts';
import type { DatedView } from '../../core/capacity/view/target-row.ts';
import type { TargetView } from '../../core/capacity/view/view.ts';
import type { MetricFamily } from '../../core/metrics/exposition.ts';

interface Figures {
  largestFreeBlock: number;
  idleNodes: bigint;
  pending: bigint;
  reserved: bigint;
  deficit: bigint;
}

export function capacityMetrics(views: readonly DatedView[]): readonly MetricFamily[] {
  const rows = views.flatMap(({ view }) =>
    [...byModel(view.targets)].map(([model, figures]) => ({
      labels: { cluster_id: view.clusterId, model },
      figures,
    })),
  );
  const gauge = (name: string, help: string, of: (figures: Figures) => number | bigint): MetricFamily => ({
    name: `resource_map_${name}`,
    help,
    type: 'gauge',
    samples: rows.map(({ labels, figures }) => ({ labels, value: of(figures) })),
  });
  return [
    gauge(
      'largest_free_block',
      'Free accelerators on the node that has most of them, once pending and reserved pods have been placed.',
      (figures) => figures.largestFreeBlock,
    ),
    gauge('nodes_idle', 'Nodes that nothing uses, before demand.', ({ idleNodes }) => idleNodes),
    gauge('accelerators_pending', 'Accelerators of pods that have none yet.', ({ pending }) => pending),
    gauge(
      'accelerators_reserved',
      'Accelerators of chains reserved for autoscaling.',
      ({ reserved }) => reserved,
    ),
    gauge(
      'accelerators_deficit',
      'The part of both that cannot be placed on the nodes there are.',
      ({ deficit }) => deficit,
    ),
  ];
}

/** Nodes without accelerators have no model and are left out. */
function byModel(targets: readonly TargetView[]): ReadonlyMap<string, Figures> {
  const models = new Map<string, Figures>();
  for (const { acceleratorModel: model, acceleratorsPerNode, occupancy, demand, served } of targets) {
    if (acceleratorsPerNode === 0) continue;
    const sum = models.get(model) ?? {
      largestFreeBlock: 0,
      idleNodes: 0n,
      pending: 0n,
      reserved: 0n,
      deficit: 0n,
    };
    models.set(model, sum);
    const deficit = deficitOf(demand, served);
    sum.largestFreeBlock = Math.max(sum.largestFreeBlock, ...served.freeNodesAfter.keys());
    sum.idleNodes += BigInt(occupancy.idleNodes);
    sum.pending += volume(demand.pending);
    sum.reserved += volume(demand.reserved);
    sum.deficit += volume(deficit.pending) + volume(deficit.reserved);
  }
  return models;
}
