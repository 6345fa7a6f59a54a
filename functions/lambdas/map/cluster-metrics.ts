/** What the heads say of each cluster, as metrics: timestamps and not ages, which a scraper counts itself. */
import type { MetricFamily, Sample } from '../../core/metrics/exposition.ts';
import { VERSION } from '../../runtime/version.ts';
import type { Head } from '../../storage/head.ts';

/** Reasons that a label may have: anybody can give another to a DELETE, and each would be a series. */
const REASONS: ReadonlySet<string> = new Set(['silent', 'deleted', 'refused']);

export function clusterMetrics(heads: readonly Head[]): readonly MetricFamily[] {
  const included = heads.filter(({ omission }) => omission === undefined);
  const of = (all: readonly Head[], value: (head: Head) => number | bigint): Iterable<Sample> =>
    all.map((head) => ({ labels: { cluster_id: head.clusterId }, value: value(head) }));
  const ofModels = (value: (totals: Head['accelerators'][number]) => bigint): Iterable<Sample> =>
    included.flatMap(({ clusterId, accelerators }) =>
      accelerators.map((totals) => ({
        labels: { cluster_id: clusterId, model: totals.model },
        value: value(totals),
      })),
    );
  return [
    {
      name: 'resource_map_build_info',
      help: 'The version of the service.',
      type: 'info',
      samples: [{ labels: { version: VERSION }, value: 1 }],
    },
    {
      name: 'resource_map_cluster_info',
      help: 'Who a cluster is.',
      type: 'info',
      samples: heads.map(({ clusterId, identity }) => ({
        labels: {
          cluster_id: clusterId,
          display_name: identity.displayName,
          provider: identity.provider,
          region: identity.region,
          site: identity.site,
        },
        value: 1,
      })),
    },
    gauge(
      'cluster_included',
      'Whether the cluster is in the map.',
      of(heads, ({ omission }) => (omission === undefined ? 1 : 0)),
    ),
    {
      name: 'resource_map_cluster_omitted_info',
      help: 'Why a cluster is out of the map; only while it is.',
      type: 'info',
      samples: heads.flatMap(({ clusterId, omission }) =>
        omission === undefined
          ? []
          : [
              {
                labels: {
                  cluster_id: clusterId,
                  reason: REASONS.has(omission.reason) ? omission.reason : 'other',
                },
                value: 1,
              },
            ],
      ),
    },
    gauge(
      'cluster_received_timestamp_seconds',
      "When the last good push was received, by the service's clock.",
      of(heads, ({ receivedAtMs }) => receivedAtMs / 1_000),
    ),
    gauge(
      'cluster_collected_timestamp_seconds',
      "When the agent collected the last good push, by the agent's clock.",
      of(heads, ({ collectedAtNanos }) => Number(collectedAtNanos / 1_000_000n) / 1_000),
    ),
    gauge(
      'cluster_content_timestamp_seconds',
      'Since when the map has had the present content without a break.',
      of(heads, ({ contentSince }) => contentSince.atMs / 1_000),
    ),
    gauge(
      'cluster_warnings',
      'Warnings of the last good push.',
      of(heads, ({ warnings }) => warnings),
    ),
    gauge(
      'cluster_snapshot_bytes',
      'Size of the snapshot without its time and counter, as encoded in Protobuf.',
      of(heads, ({ body }) => body.rawBytes),
    ),
    gauge(
      'cluster_unlisted_models',
      'Accelerator models that are in none of the series below, of a cluster that has very many.',
      of(heads, ({ omittedModels }) => omittedModels),
    ),
    gauge(
      'accelerators',
      'Accelerators; only while the cluster is in the map.',
      ofModels(({ total }) => total),
    ),
    gauge(
      'accelerators_free',
      'Accelerators that are neither allocated, in external use nor unavailable; only while the cluster is in the map.',
      ofModels(({ free }) => free),
    ),
    gauge(
      'accelerators_unavailable',
      'Accelerators that are not allocated and yet not to be had; only while the cluster is in the map.',
      ofModels(({ unavailable }) => unavailable),
    ),
  ];
}

function gauge(name: string, help: string, samples: Iterable<Sample>): MetricFamily {
  return { name: `resource_map_${name}`, help, type: 'gauge', samples };
}
