/** The figures of real clusters equal those counted straight from the records that they were made of. */
import { readFileSync } from 'node:fs';
import { fromJson } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { times, volume } from '../../../functions/core/capacity/view/histogram.ts';
import { deficitOf } from '../../../functions/core/capacity/view/served-demand.ts';
import { clusterView, type TargetView } from '../../../functions/core/capacity/view/view.ts';
import { ClusterResourceMapSchema } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';

interface Expected {
  readonly gpu_nodes?: number;
  readonly pods: { readonly PENDING_GPUS: number; readonly reserved_chains?: number };
  readonly total: {
    readonly gpus: number;
    readonly alloc: number;
    readonly ext: number;
    readonly free: number;
    readonly unavail?: number;
    readonly nodes?: number;
    readonly busy_nodes?: number;
  };
  readonly types?: Readonly<
    Record<
      string,
      {
        readonly nodes: number;
        readonly gpus: number;
        readonly alloc: number;
        readonly ext: number;
        readonly free: number;
        readonly busy_nodes: number;
        readonly hist: Readonly<Record<string, number>>;
      }
    >
  >;
}

const folder = new URL('../../data/', import.meta.url);
const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, folder), 'utf8'));
const expected = new Map(Object.entries(read('expected.json') as Record<string, Expected>));

function targetsOf(name: string): readonly TargetView[] {
  return clusterView(fromJson(ClusterResourceMapSchema, read(`snapshots/${name}`) as never)).targets;
}

describe.each([...expected])('%s', (name, { total, pods, gpu_nodes, types }) => {
  const targets = targetsOf(name);
  const sum = (of: (target: TargetView) => bigint) =>
    Number(targets.reduce((all, target) => all + of(target), 0n));

  test('has the accelerators that the records have', () => {
    expect({
      gpus: sum(({ occupancy }) => occupancy.total),
      alloc: sum(({ occupancy }) => occupancy.allocated),
      ext: sum(({ occupancy }) => occupancy.external),
      free: sum(({ occupancy }) => occupancy.free),
      unavail: sum(({ occupancy }) => occupancy.unavailable),
    }).toEqual({
      gpus: total.gpus,
      alloc: total.alloc,
      ext: total.ext,
      free: total.free,
      unavail: total.unavail ?? 0,
    });
  });

  test('has the demand that the records have', () => {
    expect(sum(({ demand }) => volume(demand.pending))).toBe(pods.PENDING_GPUS);
    expect(sum(({ demand }) => BigInt(times(demand.reserved)))).toBe(pods.reserved_chains ?? 0);
  });

  test('has the nodes that the records have', () => {
    const nodes = targets.reduce((all, { occupancy }) => all + occupancy.nodes, 0);
    const withAccelerators = targets
      .filter(({ acceleratorsPerNode }) => acceleratorsPerNode > 0)
      .reduce((all, { occupancy }) => all + occupancy.nodes, 0);
    const busy = targets.reduce((all, { occupancy }) => all + occupancy.nodes - occupancy.idleNodes, 0);
    expect(total.nodes ?? nodes).toBe(nodes);
    expect(total.busy_nodes ?? busy).toBe(busy);
    expect(gpu_nodes ?? withAccelerators).toBe(withAccelerators);
  });

  test.runIf(types !== undefined)('has them on each node type, node by node', () => {
    const counted = targets.map(({ nodeTypeId, occupancy }) => [
      nodeTypeId,
      {
        nodes: occupancy.nodes,
        gpus: Number(occupancy.total),
        alloc: Number(occupancy.allocated),
        ext: Number(occupancy.external),
        free: Number(occupancy.free),
        busy_nodes: occupancy.nodes - occupancy.idleNodes,
        hist: Object.fromEntries(occupancy.freeNodes),
      },
    ]);
    const fromRecords = Object.entries(types ?? {}).map(
      ([id, { nodes, gpus, alloc, ext, free, busy_nodes, hist }]) => [
        id,
        { nodes, gpus, alloc, ext, free, busy_nodes, hist },
      ],
    );
    expect(Object.fromEntries(counted)).toEqual(Object.fromEntries(fromRecords));
  });
});

test('the pod that waits for the autoscaler is the deficit, and the node that comes takes it', () => {
  const deficit = (name: string) =>
    targetsOf(name).reduce((all, { demand, served }) => all + volume(deficitOf(demand, served).pending), 0n);
  expect(deficit('kops-l4-t1.json')).toBe(1n);
  expect(deficit('kops-l4-t3.json')).toBe(0n);
});
