/**
 * Which API server, and who to be there: from a kubeconfig as kubectl reads it, or from the
 * account of the pod that this runs in.
 */
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { parse } from 'yaml';
import { at, isTrue, list, member, text } from '../mapping/json.ts';
import { KubeconfigError } from './errors.ts';
import { execCredentials } from './exec-credentials.ts';
import type { KubeTarget } from './target.ts';

export interface KubeconfigOptions {
  /** A file in place of KUBECONFIG and `~/.kube/config`. */
  readonly file?: string | undefined;
  readonly context?: string | undefined;
  readonly env?: NodeJS.ProcessEnv;
}

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * @throws KubeconfigError where nothing says which cluster, or what says so cannot be used
 */
export function kubeTarget({ file, context, env = process.env }: KubeconfigOptions = {}): KubeTarget {
  const inCluster = env.KUBERNETES_SERVICE_HOST;
  if (
    file === undefined &&
    context === undefined &&
    env.KUBECONFIG === undefined &&
    inCluster !== undefined
  ) {
    if (existsSync(join(ACCOUNT, 'token')))
      return accountTarget(inCluster, env.KUBERNETES_SERVICE_PORT ?? '443');
  }
  const files =
    file !== undefined
      ? [file]
      : (env.KUBECONFIG ?? '').split(delimiter).filter((each) => each !== '' && existsSync(each));
  const [home] = files.length > 0 ? files : [join(homedir(), '.kube', 'config')];
  if (files.length === 0 && home !== undefined) {
    if (!existsSync(home)) {
      throw new KubeconfigError(
        `There is no kubeconfig: ${env.KUBECONFIG === undefined ? home : `KUBECONFIG, which is ${env.KUBECONFIG},`} does not exist. Set KUBECONFIG or --kubeconfig, or read files with --from.`,
      );
    }
    files.push(home);
  }
  return targetOf(files.map(readConfig), context);
}

interface ConfigFile {
  readonly path: string;
  readonly config: unknown;
}

function readConfig(path: string): ConfigFile {
  try {
    return { path: resolve(path), config: parse(readFileSync(path, 'utf8')) };
  } catch (cause) {
    throw new KubeconfigError(
      `The kubeconfig ${path} cannot be read: ${(cause as Error).message.split('\n')[0]}`,
      { cause },
    );
  }
}

/** Of several files the first that has an entry gives it, as kubectl has it. */
function entry(
  files: readonly ConfigFile[],
  section: string,
  name: string,
): { readonly file: ConfigFile; readonly entry: unknown } | undefined {
  for (const file of files) {
    const found = list(member(file.config, section)).find((each) => member(each, 'name') === name);
    if (found !== undefined) return { file, entry: found };
  }
  return undefined;
}

function targetOf(files: readonly ConfigFile[], wanted: string | undefined): KubeTarget {
  const names = files.map(({ path }) => path).join(', ');
  const current =
    wanted ??
    files.map(({ config }) => text(member(config, 'current-context'))).find((each) => each !== undefined);
  if (current === undefined)
    throw new KubeconfigError(`${names} has no current-context; give one with --context.`);
  const context = entry(files, 'contexts', current);
  if (context === undefined) {
    const known = files.flatMap(({ config }) =>
      list(member(config, 'contexts')).flatMap((each) => text(member(each, 'name')) ?? []),
    );
    throw new KubeconfigError(
      `${names} has no context ${JSON.stringify(current)}; it has ${known.join(', ') || 'none'}.`,
    );
  }
  const clusterName = text(at(context.entry, 'context', 'cluster')) ?? '';
  const cluster = entry(files, 'clusters', clusterName);
  const server = text(at(cluster?.entry, 'cluster', 'server'));
  if (
    cluster === undefined ||
    server === undefined ||
    !URL.canParse(server) ||
    !/^https?:$/.test(new URL(server).protocol)
  ) {
    throw new KubeconfigError(
      `${names}: the cluster ${JSON.stringify(clusterName)} of context ${JSON.stringify(current)} has no server that is a URL.`,
    );
  }
  const settings = member(cluster.entry, 'cluster');
  if (text(member(settings, 'proxy-url')) !== undefined)
    throw new KubeconfigError(
      `${names}: the cluster ${JSON.stringify(clusterName)} is reached by proxy-url, which rmap cannot use.`,
    );
  const ca = fileOrData(cluster.file, settings, 'certificate-authority');
  const userName = text(at(context.entry, 'context', 'user'));
  const user = userName === undefined ? undefined : entry(files, 'users', userName);
  if (userName !== undefined && user === undefined)
    throw new KubeconfigError(
      `${names} has no user ${JSON.stringify(userName)}, which context ${JSON.stringify(current)} names.`,
    );
  return {
    server: new URL(server),
    ca,
    insecure: isTrue(member(settings, 'insecure-skip-tls-verify')),
    serverName: text(member(settings, 'tls-server-name')),
    ...credentialsOf(user?.file, member(user?.entry, 'user'), { server, ca }),
  };
}

function credentialsOf(
  file: ConfigFile | undefined,
  user: unknown,
  cluster: { readonly server: string; readonly ca: string | undefined },
): Pick<KubeTarget, 'credentials' | 'refused'> {
  if (file === undefined) return { credentials: async () => ({}), refused: () => {} };
  const exec = member(user, 'exec');
  if (exec !== undefined) return execCredentials(exec, dirname(file.path), cluster);
  if (member(user, 'auth-provider') !== undefined) {
    throw new KubeconfigError(
      `${file.path} uses an auth-provider, which Kubernetes removed in 1.26; use its exec plugin.`,
    );
  }
  const cert = fileOrData(file, user, 'client-certificate');
  const key = fileOrData(file, user, 'client-key');
  const token = text(member(user, 'token'));
  const tokenFile = text(member(user, 'tokenFile'));
  const [name, password] = [text(member(user, 'username')), text(member(user, 'password'))];
  const basic =
    name === undefined ? undefined : `Basic ${Buffer.from(`${name}:${password ?? ''}`).toString('base64')}`;
  return {
    async credentials() {
      // As for kubectl, a file goes before a token that is written down.
      const bearer =
        tokenFile === undefined ? token : await tokenFrom(resolve(dirname(file.path), tokenFile));
      return { cert, key, authorization: bearer === undefined ? basic : `Bearer ${bearer}` };
    },
    refused() {},
  };
}

function fileOrData(file: ConfigFile, section: unknown, name: string): string | undefined {
  const data = text(member(section, `${name}-data`));
  if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8');
  const path = text(member(section, name));
  if (path === undefined) return undefined;
  try {
    return readFileSync(resolve(dirname(file.path), path), 'utf8');
  } catch (cause) {
    throw new KubeconfigError(`${file.path}: ${name} ${path} cannot be read: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** Read at each request: a kubelet writes a projected token again before it expires. */
async function tokenFrom(path: string): Promise<string> {
  let token: string;
  try {
    token = (await readFile(path, 'utf8')).trim();
  } catch (cause) {
    throw new KubeconfigError(`The token file ${path} cannot be read: ${(cause as Error).message}`, {
      cause,
    });
  }
  if (!/^[\x21-\x7e]+$/.test(token)) throw new KubeconfigError(`The token file ${path} holds no token.`);
  return token;
}

function accountTarget(host: string, port: string): KubeTarget {
  const address = host.includes(':') ? `[${host}]` : host;
  return {
    server: new URL(`https://${address}:${port}`),
    ca: readFileSync(join(ACCOUNT, 'ca.crt'), 'utf8'),
    insecure: false,
    serverName: undefined,
    credentials: async () => ({ authorization: `Bearer ${await tokenFrom(join(ACCOUNT, 'token'))}` }),
    refused() {},
  };
}
