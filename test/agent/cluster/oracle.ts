/**
 * What each node has free, straight from the API objects by the scheduler's own rule. It shares
 * nothing with the agent: where both are wrong in the same way, only they are.
 */

interface Requests {
  readonly [resource: string]: string | number | undefined;
}

export interface ApiNode {
  readonly metadata: { readonly name: string; readonly labels?: Record<string, string> };
  readonly spec?: {
    readonly unschedulable?: boolean;
    readonly taints?: readonly { readonly key: string; readonly effect: string }[];
  };
  readonly status?: {
    readonly allocatable?: Requests;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

interface ApiContainer {
  readonly restartPolicy?: string;
  readonly resources?: { readonly requests?: Requests };
}

export interface ApiPod {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: readonly ApiContainer[];
    readonly initContainers?: readonly ApiContainer[];
  };
  readonly status?: { readonly phase?: string; readonly extendedResourceClaimStatus?: object };
}

export interface ApiSlice {
  readonly spec: {
    readonly driver: string;
    readonly nodeName: string;
    readonly devices?: readonly { readonly name: string; readonly taints?: readonly unknown[] }[];
  };
}

export interface ApiClaim {
  readonly status?: {
    readonly allocation?: {
      readonly devices?: {
        readonly results?: readonly {
          readonly driver: string;
          readonly pool: string;
          readonly device: string;
        }[];
      };
    };
  };
}

export interface ApiState {
  readonly nodes: readonly ApiNode[];
  readonly pods: readonly ApiPod[];
  readonly slices: readonly ApiSlice[];
  readonly claims: readonly ApiClaim[];
}

const GPU = 'nvidia.com/gpu';
const DRIVER = 'gpu.nvidia.com';

/** Free devices of every node, largest first, by the pool that a label names. */
export function freeByPool(
  { nodes, pods, slices, claims }: ApiState,
  poolOf: (labels: Record<string, string>) => string,
): Record<string, number[]> {
  const taken = new Map<string, number>();
  const take = (node: string, count: number) => taken.set(node, (taken.get(node) ?? 0) + count);
  for (const pod of pods) {
    const { nodeName } = pod.spec;
    const over = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
    if (nodeName === undefined || over || pod.status?.extendedResourceClaimStatus !== undefined) continue;
    take(nodeName, requestOf(pod));
  }
  const nodeOfDevice = new Map<string, string>();
  for (const { spec } of slices) {
    for (const { name } of spec.devices ?? [])
      if (spec.driver === DRIVER) nodeOfDevice.set(name, spec.nodeName);
  }
  const allocated = new Set<string>();
  for (const claim of claims) {
    for (const { driver, device } of claim.status?.allocation?.devices?.results ?? [])
      if (driver === DRIVER) allocated.add(device);
  }
  for (const device of allocated) {
    const node = nodeOfDevice.get(device);
    if (node !== undefined) take(node, 1);
  }

  const free: Record<string, number[]> = {};
  for (const node of nodes) {
    const devices = slices
      .filter(({ spec }) => spec.driver === DRIVER && spec.nodeName === node.metadata.name)
      .flatMap(({ spec }) => spec.devices ?? [])
      .filter(({ taints }) => (taints?.length ?? 0) === 0).length;
    const offered = Math.max(Number(node.status?.allocatable?.[GPU] ?? 0), devices);
    const open = takesWork(node) ? Math.max(0, offered - (taken.get(node.metadata.name) ?? 0)) : 0;
    const pool = poolOf(node.metadata.labels ?? {});
    free[pool] = [...(free[pool] ?? []), open];
  }
  for (const list of Object.values(free)) list.sort((a, b) => b - a);
  return free;
}

/** Work for GPUs tolerates the fence of GPU nodes, and nothing else. */
function takesWork({ spec, status }: ApiNode): boolean {
  if (spec?.unschedulable === true) return false;
  if (status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is !== 'True') === true)
    return false;
  return (spec?.taints ?? []).every(({ key, effect }) => effect === 'PreferNoSchedule' || key === GPU);
}

function requestOf({ spec }: ApiPod): number {
  const of = (container: ApiContainer) => Number(container.resources?.requests?.[GPU] ?? 0);
  let sidecars = 0;
  let starting = 0;
  for (const container of spec.initContainers ?? []) {
    if (container.restartPolicy === 'Always') sidecars += of(container);
    else starting = Math.max(starting, sidecars + of(container));
  }
  return Math.max(starting, sidecars + spec.containers.reduce((sum, container) => sum + of(container), 0));
}
