import { expect, test } from 'vitest';
import { devicesOf } from '../../../functions/agent/mapping/quantity.ts';
import { readPod } from '../../../functions/agent/mapping/read-pod.ts';

const PREFIX = { labelPrefix: 'tandemn.com' };
const gpus = (count: string) => ({ resources: { requests: { 'nvidia.com/gpu': count } } });
const pod = (spec: object, more: object = {}) => ({
  metadata: { name: 'p', namespace: 'a', uid: 'u' },
  spec,
  ...more,
});

test.each([
  ['8', 8],
  [8, 8],
  ['8e0', 8],
  ['8k', 8_000],
  ['1Ki', 1_024],
  ['500m', 0],
  ['-1', 0],
  ['', 0],
  ['eight', 0],
  [null, 0],
  ['9999999999999999999', 1_000_000],
])('the quantity %j is %d devices', (quantity, devices) => {
  expect(devicesOf(quantity)).toBe(devices);
});

test('containers and sidecars add up, and init containers count where they need more', () => {
  const sidecar = { ...gpus('1'), restartPolicy: 'Always' };
  const requests = (spec: object) => readPod(pod(spec), PREFIX)?.requests['nvidia.com/gpu'];
  expect(requests({ containers: [gpus('1'), gpus('2')] })).toBe(3);
  expect(requests({ containers: [gpus('1')], initContainers: [gpus('8')] })).toBe(8);
  expect(requests({ containers: [gpus('1')], initContainers: [sidecar, gpus('8')] })).toBe(9);
  expect(requests({ containers: [gpus('1')], initContainers: [gpus('8'), sidecar] })).toBe(8);
  expect(requests({ containers: [{ resources: { limits: { 'nvidia.com/gpu': '4' } } }] })).toBe(4);
});

test('nothing is kept of a pod without accelerators, and no environment of any', () => {
  const env = [{ name: 'PASSWORD', value: 'secret' }];
  expect(
    readPod(pod({ containers: [{ env, resources: { requests: { cpu: '1' } } }] }), PREFIX),
  ).toBeUndefined();
  const kept = readPod(
    pod({ containers: [{ ...gpus('1'), env, image: 'x', args: ['--token', 'secret', '--tp=4'] }] }),
    PREFIX,
  );
  expect(kept?.container).toMatchObject({ tensor: 4 });
  expect(JSON.stringify(kept)).not.toContain('secret');
});

test('that a pod was ready once is remembered, of the same pod only', () => {
  const ready = readPod(
    pod({ containers: [gpus('1')] }, { status: { conditions: [{ type: 'Ready', status: 'True' }] } }),
    PREFIX,
  );
  const not = pod({ containers: [gpus('1')] });
  expect(readPod(not, { ...PREFIX, before: ready })?.everReady).toBe(true);
  expect(
    readPod({ ...not, metadata: { ...not.metadata, uid: 'another' } }, { ...PREFIX, before: ready })
      ?.everReady,
  ).toBe(false);
});
