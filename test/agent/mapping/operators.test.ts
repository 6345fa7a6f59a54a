import { expect, test } from 'vitest';
import { NO_MEMORY } from '../../../functions/agent/mapping/memory.ts';
import { operatorOf } from '../../../functions/agent/mapping/operators.ts';
import { readDump } from '../../../functions/agent/mapping/read-objects.ts';
import { DEFAULT_SETTINGS } from '../../../functions/agent/mapping/settings.ts';
import { snapshotOf } from '../../../functions/agent/mapping/snapshot.ts';

function deployment(labels: object, image = 'example/manager', name = 'manager') {
  return {
    kind: 'Deployment',
    metadata: { name, namespace: 'system', labels },
    spec: { template: { spec: { containers: [{ name: 'manager', image }] } } },
  };
}

test.each([
  [
    'the label of its version',
    { 'app.kubernetes.io/name': 'kueue', 'app.kubernetes.io/version': 'v0.14.2' },
    'registry.k8s.io/kueue/kueue:v1',
    { name: 'kueue', version: 'v0.14.2' },
  ],
  [
    'the tag of its image',
    { 'app.kubernetes.io/name': 'gpu-operator' },
    'registry.example:5000/nvidia/gpu-operator:v25.3.0@sha256:ab',
    { name: 'gpu-operator', version: 'v25.3.0' },
  ],
  ['neither', { 'app.kubernetes.io/name': 'lws' }, 'registry.example:5000/lws@sha256:ab', undefined],
  ['the name of something else', { 'app.kubernetes.io/name': 'web' }, 'a/web:1', undefined],
])('the Deployment of an operator with %s', (_, labels, image, expected) => {
  expect(operatorOf(deployment(labels, image))).toEqual(expected);
});

test('operators are components of the cluster, once a version', () => {
  const kueue = { 'app.kubernetes.io/name': 'kueue', 'app.kubernetes.io/version': 'v0.14.2' };
  const { facts } = readDump(
    [
      deployment({ 'app.kubernetes.io/name': 'lws' }, 'registry.k8s.io/lws/lws:v0.7.0', 'lws'),
      deployment(kueue, undefined, 'a'),
      deployment(kueue, undefined, 'b'),
    ],
    DEFAULT_SETTINGS,
  );
  const { snapshot } = snapshotOf({
    facts,
    settings: { ...DEFAULT_SETTINGS, cluster: { id: 'c' } },
    memory: NO_MEMORY,
    collectedAtMs: 0,
    counter: 1n,
  });
  expect(snapshot.installedComponents.map(({ name, version }) => [name, version])).toEqual([
    ['kueue', 'v0.14.2'],
    ['lws', 'v0.7.0'],
  ]);
});
