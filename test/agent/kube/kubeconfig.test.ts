import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { KubeconfigError } from '../../../functions/agent/kube/errors.ts';
import { kubeTarget } from '../../../functions/agent/kube/kubeconfig.ts';

const folder = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
function write(content: object | string): string {
  const path = join(folder, `config-${files++}`);
  writeFileSync(path, typeof content === 'string' ? content : stringify(content));
  return path;
}

function config(user: object, cluster: object = {}): object {
  return {
    clusters: [{ name: 'c', cluster: { server: 'https://api.example:6443', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'main', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'main',
  };
}

const target = (user: object, cluster?: object) =>
  kubeTarget({ file: write(config(user, cluster)), env: {} });

test('tokens, token files that change, names and passwords, client certificates', async () => {
  expect(await target({ token: 't' }).credentials()).toMatchObject({ authorization: 'Bearer t' });
  expect(await target({ username: 'a', password: 'b' }).credentials()).toMatchObject({
    authorization: 'Basic YTpi',
  });
  const file = write('one\n');
  const rotating = target({ tokenFile: file, token: 'not-this' });
  expect((await rotating.credentials()).authorization).toBe('Bearer one');
  writeFileSync(file, 'two');
  expect((await rotating.credentials()).authorization).toBe('Bearer two');
  const pem = Buffer.from('PEM').toString('base64');
  expect(
    await target({ 'client-certificate-data': pem, 'client-key-data': pem }).credentials(),
  ).toMatchObject({ cert: 'PEM', key: 'PEM' });
});

test('a file beside the kubeconfig, TLS settings, and several kubeconfigs', async () => {
  writeFileSync(join(folder, 'ca.pem'), 'CA');
  const { ca, insecure, serverName, server } = target(
    {},
    { 'certificate-authority': 'ca.pem', 'tls-server-name': 'kube', 'insecure-skip-tls-verify': true },
  );
  expect([ca, insecure, serverName, server.href]).toEqual(['CA', true, 'kube', 'https://api.example:6443/']);
  const [first, second] = [write({ 'current-context': 'main' }), write(config({ token: 'of-the-second' }))];
  const merged = kubeTarget({
    env: { KUBECONFIG: [first, join(folder, 'missing'), second].join(delimiter) },
  });
  expect((await merged.credentials()).authorization).toBe('Bearer of-the-second');
});

test('an exec plugin is run once, and again after a refusal', async () => {
  const program = join(folder, 'plugin');
  writeFileSync(
    program,
    `#!/bin/sh\necho run >> ${folder}/runs\nprintf '{"status": {"token": "%s-%s", "expirationTimestamp": "2999-01-01T00:00:00Z"}}' "$PREFIX" "$(wc -l < ${folder}/runs | tr -d ' ')"\n`,
  );
  chmodSync(program, 0o755);
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: './plugin',
    env: [{ name: 'PREFIX', value: 'token' }],
  };
  const plugin = target({ exec });
  expect((await plugin.credentials()).authorization).toBe('Bearer token-1');
  expect((await plugin.credentials()).authorization).toBe('Bearer token-1');
  plugin.refused();
  expect((await plugin.credentials()).authorization).toBe('Bearer token-2');
});

test.each([
  [
    {
      exec: {
        apiVersion: 'client.authentication.k8s.io/v1',
        command: 'no-such-program',
        installHint: 'install it',
      },
    },
    'The exec plugin no-such-program failed: install it',
  ],
  [
    { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: '/bin/echo', args: ['secret'] } },
    'The exec plugin /bin/echo printed no ExecCredential.',
  ],
])('an exec plugin that cannot be used: %#', async (user, message) => {
  await expect(target(user).credentials()).rejects.toThrow(new KubeconfigError(message));
});

test('what cannot be used is named', () => {
  const message = (make: () => unknown) => {
    try {
      make();
    } catch (error) {
      return (error as Error).message.replaceAll(folder, 'F').replace(/config-\d+/, 'config');
    }
    return undefined;
  };
  expect(message(() => kubeTarget({ file: write(config({})), context: 'other', env: {} }))).toBe(
    'F/config has no context "other"; it has main.',
  );
  expect(message(() => target({}, { server: 'nowhere' }))).toBe(
    'F/config: the cluster "c" of context "main" has no server that is a URL.',
  );
  expect(message(() => target({ 'auth-provider': { name: 'gcp' } }))).toBe(
    'F/config uses an auth-provider, which Kubernetes removed in 1.26; use its exec plugin.',
  );
  expect(message(() => kubeTarget({ env: { KUBECONFIG: join(folder, 'none') } }))).toMatch(
    /^There is no kubeconfig: /,
  );
  expect(message(() => kubeTarget({ file: write('a: [b'), env: {} }))).toMatch(
    /^The kubeconfig F\/config cannot be read: /,
  );
});
