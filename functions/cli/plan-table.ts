/** Plans as a person reads them: for each bundle what became of it, and a line for each job. */
import type {
  BundlePlan,
  CopyPlan,
  JobPlacement,
  NodeRef,
  NodeServicePlan,
  PlanResponse,
  UnplacedJob,
} from '../gen/resourcemap/bundle/v1/plan_pb.ts';
import { printable } from '../terminal/printable.ts';
import { table } from '../terminal/table.ts';
import { findingLines, mapLines } from './bundle-lines.ts';

export function planLines({ bundles, services, etag }: PlanResponse): readonly string[] {
  const blocks = [...services.map(serviceLines), ...bundles.map(bundleLines)];
  return [...blocks.flatMap((lines, i) => (i === 0 ? lines : ['', ...lines])), ...mapLines(etag)];
}

function bundleLines({ bundleId, outcome, message, copies, findings }: BundlePlan): readonly string[] {
  const rows = copies.flatMap((copy) => [
    ...copy.placements.map((placement) => placedRow(copy, placement)),
    ...copy.unplaced.map((job) => unplacedRow(copy, job)),
  ]);
  return [
    printable(`bundle ${bundleId}: ${outcome}. ${message}`),
    ...findingLines('error', findings),
    ...(rows.length === 0 ? [] : [jobTable(rows)]),
  ];
}

function jobTable(rows: readonly (readonly string[])[]): string {
  return table(
    ['COPY', 'JOB', 'POOL', 'TIER', 'CLUSTER', 'NODE TYPE', 'NODE', 'DEVICES', 'NOTE'].map((title) => ({
      title,
    })),
    rows,
  );
}

function placedRow(copy: CopyPlan, placement: JobPlacement): readonly string[] {
  const { jobName, poolName, tier, tierName, node, gpuIndexes, unverified } = placement;
  const shared = copy.degraded.filter(({ jobs }) => jobs.includes(jobName)).map(({ domain }) => domain);
  const notes = [
    ...(shared.length > 0 ? [`degraded: same ${shared.join(', ')}`] : []),
    ...(unverified.length > 0 ? [`${unverified.join(' and ')} not known`] : []),
  ];
  return [
    copy.copy,
    jobName,
    poolName,
    tierText(tier, tierName),
    ...nodeCells(node),
    gpuIndexes.join(',') || '-',
    notes.join('; ') || '-',
  ];
}

function unplacedRow(copy: CopyPlan, { jobName, filter, message, wouldFit }: UnplacedJob): readonly string[] {
  const offers = wouldFit.map(({ instanceType }) => instanceType);
  const wouldDo = offers.length === 0 ? '' : ` A new ${offers.slice(0, 3).join(' or ')} would hold it.`;
  return [copy.copy, jobName, '-', '-', '-', '-', `none: ${filter}`, '-', `${message}${wouldDo}`];
}

function serviceLines(plan: NodeServicePlan): readonly string[] {
  const { serviceId, outcome, placements, running, unknownPools } = plan;
  const nodes = placements.reduce((sum, placement) => sum + placement.nodes, 0);
  const unknown = unknownPools.length === 0 ? '' : `; not configured: ${unknownPools.join(', ')}`;
  const reported = outcome === 'deferred' ? '' : `, ${nodes} to start, ${running} running${unknown}`;
  const rows = placements.map(({ poolName, tier, tierName, node, nodes }) => [
    poolName,
    tierText(tier, tierName),
    ...nodeCells(node),
    String(nodes),
  ]);
  return [
    printable(`service ${serviceId}: ${outcome}${reported}`),
    ...(rows.length === 0
      ? []
      : [
          table(
            [
              ...['POOL', 'TIER', 'CLUSTER', 'NODE TYPE', 'FROM NODE'].map((title) => ({ title })),
              { title: 'NODES', align: 'right' },
            ],
            rows,
          ),
        ]),
  ];
}

function tierText(tier: number, name: string): string {
  return name === '' ? String(tier) : `${tier} ${name}`;
}

/** Cluster, node type with its capacity pool, and the node. */
function nodeCells(ref: NodeRef | undefined): readonly [string, string, string] {
  const { clusterId = '', poolId = '', nodeTypeId = '', node } = ref ?? {};
  const type = [poolId, nodeTypeId].filter((part) => part !== '').join('/');
  const name =
    node?.case === 'slot'
      ? `slot ${node.value.number} (${node.value.freeAccelerators} free)`
      : (node?.value ?? '');
  return [clusterId || '-', type || '-', name || '-'];
}
