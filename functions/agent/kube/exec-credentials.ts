/** Credentials from a program, as `aws eks get-token` and `gke-gcloud-auth-plugin` give them. */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { at, instant, isTrue, list, member, text } from '../mapping/json.ts';
import { KubeconfigError } from './errors.ts';
import type { Credentials, KubeTarget } from './target.ts';

const execFileAsync = promisify(execFile);

/** A program that talks to a cloud takes seconds; one that asks for a password never ends. */
const TIMEOUT_MS = 60_000;
/** Credentials that expire are asked for again this much earlier. */
const EARLY_MS = 30_000;

export function execCredentials(
  exec: unknown,
  folder: string,
  cluster: { readonly server: string; readonly ca: string | undefined },
): Pick<KubeTarget, 'credentials' | 'refused'> {
  const command = text(member(exec, 'command'));
  const apiVersion = text(member(exec, 'apiVersion')) ?? '';
  if (command === undefined) throw new KubeconfigError('The exec plugin of the kubeconfig names no command.');
  if (!/^client\.authentication\.k8s\.io\/v1(?:beta1)?$/.test(apiVersion))
    throw new KubeconfigError(
      `The exec plugin ${command} wants ${apiVersion || 'no apiVersion'}; v1 and v1beta1 are supported.`,
    );
  const args = list(member(exec, 'args')).map(String);
  const env = Object.fromEntries(
    list(member(exec, 'env')).map((each) => [String(member(each, 'name')), String(member(each, 'value'))]),
  );
  const info = {
    apiVersion,
    kind: 'ExecCredential',
    spec: {
      interactive: false,
      ...(isTrue(member(exec, 'provideClusterInfo'))
        ? {
            cluster: {
              server: cluster.server,
              ...(cluster.ca === undefined
                ? {}
                : { 'certificate-authority-data': Buffer.from(cluster.ca).toString('base64') }),
            },
          }
        : {}),
    },
  };

  const run = async (): Promise<{ readonly credentials: Credentials; readonly untilMs: number }> => {
    let output: string;
    try {
      // A path with a slash is relative to the kubeconfig, a name is looked up in PATH.
      const program = command.includes('/') ? resolve(folder, command) : command;
      const { stdout } = await execFileAsync(program, args, {
        env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
        timeout: TIMEOUT_MS,
        maxBuffer: 1_000_000,
      });
      output = stdout;
    } catch (cause) {
      const { code, stderr } = cause as { code?: unknown; stderr?: string };
      const why =
        code === 'ENOENT'
          ? (text(member(exec, 'installHint')) ?? 'it is not installed')
          : stderr?.trim().split('\n')[0] || (cause as Error).message.split('\n')[0];
      throw new KubeconfigError(`The exec plugin ${command} failed: ${why}`, { cause });
    }
    return read(command, output);
  };

  let current: Promise<{ readonly credentials: Credentials; readonly untilMs: number }> | undefined;
  return {
    async credentials() {
      if (
        current !== undefined &&
        (await current.then(
          ({ untilMs }) => untilMs,
          () => 0,
        )) > Date.now()
      )
        return (await current).credentials;
      current = run();
      return (await current).credentials;
    },
    refused() {
      current = undefined;
    },
  };
}

/** What it printed is never shown: it is a secret. */
function read(
  command: string,
  output: string,
): { readonly credentials: Credentials; readonly untilMs: number } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(output);
  } catch {
    throw new KubeconfigError(`The exec plugin ${command} printed no ExecCredential.`);
  }
  const token = text(at(parsed, 'status', 'token'));
  const [cert, key] = [
    text(at(parsed, 'status', 'clientCertificateData')),
    text(at(parsed, 'status', 'clientKeyData')),
  ];
  if (token === undefined && (cert === undefined || key === undefined))
    throw new KubeconfigError(`The exec plugin ${command} gave neither a token nor a certificate.`);
  const expires = instant(at(parsed, 'status', 'expirationTimestamp'));
  return {
    credentials: { cert, key, authorization: token === undefined ? undefined : `Bearer ${token}` },
    untilMs: expires === undefined ? Number.POSITIVE_INFINITY : expires - EARLY_MS,
  };
}
