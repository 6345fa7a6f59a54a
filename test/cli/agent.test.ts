import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { runRmap } from './run-rmap.ts';

const folder = mkdtempSync(join(tmpdir(), 'rmap-agent-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const NOWHERE = 'http://127.0.0.1:9';
const rmap = (...args: readonly string[]) =>
  runRmap(args, NOWHERE, '', { KUBECONFIG: join(folder, 'no-kubeconfig'), KUBERNETES_SERVICE_HOST: '' });

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const NODE = file(
  'node.yaml',
  `kind: Node
metadata: { name: n, labels: { node.kubernetes.io/instance-type: p5.48xlarge } }
status: { capacity: { nvidia.com/gpu: "8" }, allocatable: { nvidia.com/gpu: "7" } }
---
kind: Secret
metadata: { name: s }
`,
);

describe('rmap snapshot', () => {
  it('makes a snapshot of files, which rmap validate accepts, and says what it did not use', async () => {
    const { code, stdout, stderr } = await rmap('snapshot', '--cluster', 'mine', '--from', NODE);
    expect([code, stderr]).toEqual([0, 'Not used: 1 of kind Secret\n']);
    const snapshot = JSON.parse(stdout);
    expect(snapshot.cluster).toEqual({ clusterId: 'mine' });
    expect(snapshot.capacityPools[0].nodeTypes[0]).toMatchObject({
      id: 'p5.48xlarge',
      acceleratorsPerNode: 8,
      inUse: [{ unavailableAccelerators: 1 }],
    });
    const validated = await runRmap(['validate', '-'], NOWHERE, stdout);
    expect([validated.code, validated.stdout.split('\n')[0]]).toEqual([0, '-: valid, 1 warning']);
  });

  it.each([
    [
      'without an id',
      ['snapshot', '--from', NODE],
      'The files name no cluster: the UID of the namespace kube-system would. Name it with --cluster.',
    ],
    ['of a file that is not there', ['snapshot', '--from', join(folder, 'none')], 'cannot be read: ENOENT'],
    ['of what is not YAML', ['snapshot', '--from', file('bad.yaml', 'a: [')], 'is not YAML: '],
    ['without a kubeconfig', ['snapshot'], 'There is no kubeconfig: '],
    [
      'with settings that do not exist',
      ['snapshot', '--settings', file('s.yaml', 'pools: { a: { shard: true } }')],
      'pools.a: Unrecognized key: "shard"',
    ],
    [
      'for an id that no cluster can have',
      ['snapshot', '--from', NODE, '--cluster', '..'],
      '--cluster is ".."',
    ],
  ])('says what is wrong %s', async (_, args, message) => {
    const { code, stdout, stderr } = await rmap(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
  });

  it('says that an API server does not answer', async () => {
    const kubeconfig = file(
      'kubeconfig',
      JSON.stringify({
        clusters: [{ name: 'c', cluster: { server: NOWHERE } }],
        contexts: [{ name: 'c', context: { cluster: 'c' } }],
        'current-context': 'c',
      }),
    );
    const { code, stderr } = await rmap('snapshot', '--kubeconfig', kubeconfig);
    expect(code).toBe(3);
    expect(stderr).toMatch(/^The API server does not answer: GET \/\S+: connect ECONNREFUSED/);
  });
});

describe('rmap agent manifest', () => {
  it('prints the least that an agent can run with, and no permission on Secrets', async () => {
    const { code, stdout, stderr } = await rmap(
      'agent',
      'manifest',
      '--url',
      'https://map.example',
      '--cluster',
      'mine',
      '--image',
      'x:1',
    );
    expect([code, stderr]).toEqual([0, '']);
    const objects = parseAllDocuments(stdout).map((document) => document.toJS());
    expect(objects.map(({ kind }) => kind)).toEqual([
      ...[
        'Namespace',
        'ServiceAccount',
        'ClusterRole',
        'ClusterRoleBinding',
        'Role',
        'RoleBinding',
        'Role',
        'RoleBinding',
        'Deployment',
      ],
    ]);
    const rules = objects.flatMap((object) => object.rules ?? []);
    const resources = new Set(rules.flatMap((rule) => rule.resources));
    for (const forbidden of ['secrets', '*', 'pods/log', 'pods/exec'])
      expect(resources).not.toContain(forbidden);
    const writing = rules.filter(({ verbs }) =>
      verbs.some((verb: string) => !['get', 'list', 'watch'].includes(verb)),
    );
    expect(new Set(writing.flatMap((rule) => rule.resources))).toEqual(new Set(['leases']));
    const [container] = objects.at(-1).spec.template.spec.containers;
    expect(container.securityContext.readOnlyRootFilesystem).toBe(true);
    expect(container.env).toEqual([
      { name: 'RMAP_URL', value: 'https://map.example' },
      { name: 'NODE_OPTIONS', value: '--max-old-space-size=384' },
    ]);
    expect(container.resources.limits.memory).toBe('512Mi');
  });

  it('wants to know the service, and says that its image is a placeholder', async () => {
    expect(await runRmap(['agent', 'manifest'], '')).toMatchObject({ code: 2 });
    const { stderr } = await rmap('agent', 'manifest', '--url', 'https://map.example');
    expect(stderr).toBe(
      'The image is a placeholder, registry.example/resource-map:REPLACE-ME: build one, and name it with --image.\n',
    );
  });
});

it.each([
  ['--heartbeat', '0', '--heartbeat is "0"; it takes seconds, from 1 to 86400.'],
  [
    '--lease',
    'x',
    '--lease is "x"; it takes a namespace and a name, such as resource-map/resource-map-agent.',
  ],
  ['--health', 'x', '--health is "x"; it takes a host and a port, such as 0.0.0.0:8081.'],
])('rmap agent %s %s is refused', async (option, value, message) => {
  expect(await rmap('agent', option, value)).toEqual({ code: 2, stdout: '', stderr: `${message}\n` });
});
