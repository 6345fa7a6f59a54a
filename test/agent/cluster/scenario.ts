/** A cluster that is played: its objects, the service, the agent, and what both must say of it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { MAX_HEAP_MB, manifestOf } from '../../../functions/agent/manifest.ts';
import { DEFAULT_SETTINGS } from '../../../functions/agent/mapping/settings.ts';
import { createAccessClient } from '../../../functions/client/access-client.ts';
import { type Client, createClient } from '../../../functions/client/client.ts';
import { ApiError } from '../../../functions/client/errors.ts';
import { Role } from '../../../functions/gen/resourcemap/v1/access_pb.ts';
import type { ClusterResourceMap } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { ControlPlane, freePorts, kubeconfigOf } from '../control-plane/control-plane.ts';
import { History } from './history.ts';
import { type ApiState, freeByPool } from './oracle.ts';
import { Program, RMAP, type Service, serviceIn } from './processes.ts';
import { type AcceptedPush, Relay } from './relay.ts';

export const CLUSTER_ID = 'played';
const NAMESPACE = 'resource-map';
const AUDIENCE = 'resource-map';
const ACCOUNT = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/resource-map-agent`;

export const PLATFORMS = [
  'eks.amazonaws.com/nodegroup',
  'cloud.google.com/gke-nodepool',
  'kubernetes.azure.com/agentpool',
  'karpenter.sh/nodepool',
];

export class Scenario {
  readonly plane: ControlPlane;
  readonly service: Service;
  readonly client: Client;
  /** What the agents push through, unless nothing is recorded. */
  readonly relay: Relay;
  readonly #history: History | undefined;
  readonly #folder: string;
  readonly agents: Program[] = [];
  readonly healthPorts: number[] = [];

  private constructor(
    plane: ControlPlane,
    service: Service,
    relay: Relay,
    folder: string,
    private readonly recorded: boolean,
  ) {
    this.plane = plane;
    this.relay = relay;
    this.#history = recorded ? History.start(plane.etcdUrl) : undefined;
    this.service = service;
    this.#folder = folder;
    this.client = createClient({
      baseUrl: service.url,
      token: service.adminToken,
      retry: { attempts: 1, baseMs: 1, capMs: 1 },
    });
  }

  /** @param options.recorded whether every state of the cluster and every push is kept, which a large cluster has no memory for */
  static async start(bin: string, folder: string, { recorded = true } = {}): Promise<Scenario> {
    const [port = 0] = await freePorts(1);
    const service = serviceIn(folder, port);
    service.program.start();
    const [plane] = await Promise.all([ControlPlane.start(bin, folder), service.ready()]);
    const scenario = new Scenario(plane, service, await Relay.start(service.url), folder, recorded);
    await scenario.#install();
    return scenario;
  }

  /** What `rmap agent manifest` prints, but for the Deployment, which no kubelet here would run. */
  async #install(): Promise<void> {
    const manifest = manifestOf({
      url: this.service.url,
      clusterId: CLUSTER_ID,
      namespace: NAMESPACE,
      image: 'none',
      audience: AUDIENCE,
      replicas: 2,
      settings: DEFAULT_SETTINGS,
      settingsText: undefined,
    });
    for (const document of parseAllDocuments(manifest)) {
      const object = document.toJS() as { kind: string; metadata: { namespace?: string } };
      if (object.kind === 'Deployment') {
        // Admission, defaults and validation of a real server all see it.
        await this.plane.must('POST', `/apis/apps/v1/namespaces/${NAMESPACE}/deployments?dryRun=All`, object);
        continue;
      }
      await this.plane.must('POST', pathOf(object), object);
    }
    // Anybody may fetch the keys that tokens are verified with.
    await this.plane.must('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: 'issuer-discovery' },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'ClusterRole',
        name: 'system:service-account-issuer-discovery',
      },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:unauthenticated' }],
    });
    await createAccessClient({ baseUrl: this.service.url, token: this.service.adminToken }).register({
      issuer: this.plane.url,
      audience: AUDIENCE,
      subject: `system:serviceaccount:${NAMESPACE}:resource-map-agent`,
      role: Role.AGENT,
      clusterId: CLUSTER_ID,
    });
  }

  /** Writes the tokens that a kubelet would project into the agent's pod. */
  async projectTokens(): Promise<void> {
    const token = async (audiences: readonly string[]) => {
      const made = (await this.plane.must('POST', `${ACCOUNT}/token`, {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { audiences, expirationSeconds: 600 },
      })) as { status: { token: string } };
      return made.status.token;
    };
    writeFileSync(join(this.#folder, 'kube-token'), await token([this.plane.url]), { mode: 0o600 });
    writeFileSync(join(this.#folder, 'service-token'), await token([AUDIENCE]), { mode: 0o600 });
    const user = { tokenFile: join(this.#folder, 'kube-token') };
    writeFileSync(
      join(this.#folder, 'agent.kubeconfig'),
      JSON.stringify(kubeconfigOf(this.plane.url, join(this.#folder, 'ca.crt'), user)),
    );
  }

  async startAgent(...more: readonly string[]): Promise<Program> {
    const [port = 0] = await freePorts(1);
    const agent = new Program(join(this.#folder, `agent-${this.agents.length}.log`), [
      // As in its Deployment.
      `--max-old-space-size=${MAX_HEAP_MB}`,
      RMAP,
      ...[
        'agent',
        '--url',
        this.recorded ? this.relay.url : this.service.url,
        '--token-file',
        join(this.#folder, 'service-token'),
        '--cluster',
        CLUSTER_ID,
      ],
      ...[
        '--kubeconfig',
        join(this.#folder, 'agent.kubeconfig'),
        '--lease',
        `${NAMESPACE}/resource-map-agent`,
      ],
      ...['--min-interval', '0.2', '--heartbeat', '5', '--health', `127.0.0.1:${port}`],
      ...more,
    ]);
    agent.start();
    this.agents.push(agent);
    this.healthPorts.push(port);
    return agent;
  }

  async metric(agent: number, series: string): Promise<number | undefined> {
    const text = await (await fetch(`http://127.0.0.1:${this.healthPorts[agent]}/metrics`)).text();
    const line = text.split('\n').find((each) => each.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.slice(series.length + 1));
  }

  async status(agent: number, path: string): Promise<number> {
    return (await fetch(`http://127.0.0.1:${this.healthPorts[agent]}${path}`)).status;
  }

  /** All that the oracle judges by. */
  async state(): Promise<ApiState> {
    const items = async (path: string) => ((await this.plane.must('GET', path)) as { items: never[] }).items;
    const [nodes, pods, slices, claims] = await Promise.all([
      items('/api/v1/nodes'),
      items('/api/v1/pods'),
      items('/apis/resource.k8s.io/v1/resourceslices'),
      items('/apis/resource.k8s.io/v1/resourceclaims'),
    ]);
    return { nodes, pods, slices, claims };
  }

  async expected(): Promise<Record<string, number[]>> {
    return expectedOf(await this.state());
  }

  /** Pushes that show a state which the cluster did not have, or go back to an earlier one. */
  untruths(pushes: readonly AcceptedPush[] = this.relay.accepted): readonly string[] {
    if (this.#history === undefined) throw new Error('Nothing was recorded.');
    return this.#history.unexplained(
      pushes.map(({ atMs, snapshot }) => ({ atMs, free: JSON.stringify(freeOf(snapshot)) })),
      (state) => JSON.stringify(sorted(expectedOf(state))),
    );
  }

  async snapshot(): Promise<ClusterResourceMap | undefined> {
    try {
      return await this.client.snapshot(CLUSTER_ID);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Waits until the map says what the oracle says, twice running: nothing is under way then. */
  async agree(seconds = 40): Promise<ClusterResourceMap> {
    const deadline = Date.now() + seconds * 1_000;
    let [seen, expected]: [unknown, unknown] = [undefined, undefined];
    while (Date.now() < deadline) {
      const before = await this.expected();
      const snapshot = await this.snapshot();
      expected = await this.expected();
      seen = snapshot === undefined ? undefined : freeOf(snapshot);
      const quiet = JSON.stringify(before) === JSON.stringify(expected);
      if (
        snapshot !== undefined &&
        quiet &&
        JSON.stringify(seen) === JSON.stringify(sorted(expected as object))
      )
        return snapshot;
      await sleep(150);
    }
    throw new Error(
      `The map and the oracle differ:\nmap    ${JSON.stringify(seen)}\noracle ${JSON.stringify(sorted(expected as object))}`,
    );
  }

  async stop(): Promise<void> {
    await Promise.all(this.agents.map(async (agent) => agent.stop()));
    this.relay.stop();
    this.#history?.stop();
    await this.service.program.stop();
    await this.plane.stop();
  }
}

function expectedOf(state: ApiState): Record<string, number[]> {
  return freeByPool(
    state,
    (labels) => PLATFORMS.map((key) => labels[key]).find((pool) => pool !== undefined) ?? 'default',
  );
}

/** Free devices of every node of the map, by pool, largest first. */
export function freeOf(snapshot: ClusterResourceMap): Record<string, number[]> {
  const free: Record<string, number[]> = {};
  for (const pool of snapshot.capacityPools) {
    const list: number[] = [];
    for (const type of pool.nodeTypes) {
      for (const each of type.inUse) {
        const allocated = each.allocations.reduce((sum, { acceleratorCount }) => sum + acceleratorCount, 0);
        list.push(
          type.acceleratorsPerNode -
            allocated -
            each.externalAcceleratorsInUse -
            each.unavailableAccelerators,
        );
      }
      for (let idle = type.totalCount - type.inUse.length; idle > 0; idle--)
        list.push(type.acceleratorsPerNode);
    }
    if (list.length > 0) free[pool.id] = list.sort((a, b) => b - a);
  }
  return sorted(free);
}

function sorted<T extends object>(object: T): T {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1))) as T;
}

function pathOf({
  kind,
  metadata: { namespace },
}: {
  kind: string;
  metadata: { namespace?: string };
}): string {
  const group = /^(?:Cluster)?Role/.test(kind) ? '/apis/rbac.authorization.k8s.io/v1' : '/api/v1';
  return `${group}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${kind.toLowerCase()}s`;
}
