/** What `kubectl apply -f -` makes an agent of: the least that it can run with. */
import { stringify } from 'yaml';
import { kindsOf, type WatchedKind } from './kube/kinds.ts';
import type { AgentSettings } from './mapping/settings.ts';

const MEMORY_MB = 512;
/**
 * Of that, what the heap may grow to: without a bound Node collects garbage so late that the agent
 * of a large cluster holds twice of what it needs.
 */
export const MAX_HEAP_MB = 384;

export interface ManifestOptions {
  readonly url: string;
  readonly clusterId: string | undefined;
  readonly namespace: string;
  readonly image: string;
  /** Of the token that the service verifies. */
  readonly audience: string;
  readonly replicas: number;
  readonly settings: AgentSettings;
  /** The settings file as it is, to be mounted. */
  readonly settingsText: string | undefined;
}

const NAME = 'resource-map-agent';
const HEALTH_PORT = 8081;

/** YAML documents: Namespace, ServiceAccount, roles and bindings, settings, Deployment. */
export function manifestOf(options: ManifestOptions): string {
  const { namespace, settingsText } = options;
  const labels = { 'app.kubernetes.io/name': NAME };
  const meta = (extra: object = {}) => ({ name: NAME, namespace, labels, ...extra });
  const subjects = [{ kind: 'ServiceAccount', name: NAME, namespace }];
  const role = (kind: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name: NAME });
  const rbac = 'rbac.authorization.k8s.io/v1';
  const objects: object[] = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: meta() },
    {
      apiVersion: rbac,
      kind: 'ClusterRole',
      metadata: { name: NAME, labels },
      rules: clusterRules(options.settings),
    },
    {
      apiVersion: rbac,
      kind: 'ClusterRoleBinding',
      metadata: { name: NAME, labels },
      roleRef: role('ClusterRole'),
      subjects,
    },
    {
      apiVersion: rbac,
      kind: 'Role',
      metadata: { name: NAME, namespace: 'kube-system', labels },
      rules: [
        {
          apiGroups: [''],
          resources: ['configmaps'],
          resourceNames: ['cluster-autoscaler-status'],
          verbs: ['get', 'list', 'watch'],
        },
      ],
    },
    {
      apiVersion: rbac,
      kind: 'RoleBinding',
      metadata: { name: NAME, namespace: 'kube-system', labels },
      roleRef: role('Role'),
      subjects,
    },
    {
      apiVersion: rbac,
      kind: 'Role',
      metadata: meta(),
      rules: [
        // A creator of an object cannot be bound to its name.
        { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
        {
          apiGroups: ['coordination.k8s.io'],
          resources: ['leases'],
          resourceNames: [NAME],
          verbs: ['get', 'update'],
        },
      ],
    },
    { apiVersion: rbac, kind: 'RoleBinding', metadata: meta(), roleRef: role('Role'), subjects },
    ...(settingsText === undefined
      ? []
      : [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: meta(), data: { 'settings.yaml': settingsText } }]),
    deployment(options, labels),
  ];
  return objects.map((object) => stringify(object, { lineWidth: 0 })).join('---\n');
}

/** Only what is read, and never Secrets. */
function clusterRules(settings: AgentSettings): object[] {
  const kinds = kindsOf(settings);
  const all: readonly WatchedKind<never>[] = Object.values(
    kinds,
  ).flat() as unknown as readonly WatchedKind<never>[];
  const byGroup = new Map<string, Set<string>>();
  for (const { group, resource, single } of all) {
    if (single !== undefined) continue;
    byGroup.set(group, (byGroup.get(group) ?? new Set()).add(resource));
  }
  return [
    ...[...byGroup].map(([group, resources]) => ({
      apiGroups: [group],
      resources: [...resources],
      verbs: ['list', 'watch'],
    })),
    { apiGroups: [''], resources: ['namespaces'], resourceNames: ['kube-system'], verbs: ['get'] },
  ];
}

function deployment(
  { url, clusterId, namespace, image, audience, replicas, settingsText }: ManifestOptions,
  labels: Record<string, string>,
): object {
  const probe = (path: string) => ({
    httpGet: { path, port: 'health' },
    periodSeconds: 10,
    timeoutSeconds: 5,
  });
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: NAME, namespace, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: NAME,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 65_532,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          containers: [
            {
              name: 'agent',
              image,
              command: ['rmap', 'agent'],
              args: [
                '--token-file=/var/run/resource-map/token',
                ...(clusterId === undefined ? [] : [`--cluster=${clusterId}`]),
                `--lease=${namespace}/${NAME}`,
                `--health=0.0.0.0:${HEALTH_PORT}`,
                ...(settingsText === undefined ? [] : ['--settings=/etc/resource-map/settings.yaml']),
              ],
              env: [
                { name: 'RMAP_URL', value: url },
                { name: 'NODE_OPTIONS', value: `--max-old-space-size=${MAX_HEAP_MB}` },
              ],
              ports: [{ name: 'health', containerPort: HEALTH_PORT }],
              livenessProbe: probe('/healthz'),
              readinessProbe: probe('/readyz'),
              resources: { requests: { cpu: '100m', memory: '192Mi' }, limits: { memory: `${MEMORY_MB}Mi` } },
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
              },
              volumeMounts: [
                { name: 'token', mountPath: '/var/run/resource-map', readOnly: true },
                ...(settingsText === undefined
                  ? []
                  : [{ name: 'settings', mountPath: '/etc/resource-map', readOnly: true }]),
              ],
            },
          ],
          volumes: [
            {
              name: 'token',
              projected: {
                sources: [{ serviceAccountToken: { audience, expirationSeconds: 3_600, path: 'token' } }],
              },
            },
            ...(settingsText === undefined ? [] : [{ name: 'settings', configMap: { name: NAME } }]),
          ],
        },
      },
    },
  };
}
