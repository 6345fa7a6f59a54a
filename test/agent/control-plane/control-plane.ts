/** A real control plane on loopback: etcd, kube-apiserver, kube-scheduler, and kwok for kubelets. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import net from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ApiResponse {
  readonly status: number;
  readonly body: unknown;
}

export class ControlPlane {
  readonly url: string;
  readonly folder: string;
  readonly etcdUrl: string;
  readonly #bin: string;
  readonly #ports: {
    readonly etcd: number;
    readonly peer: number;
    readonly api: number;
    readonly kwok: number;
  };
  readonly #admin = randomBytes(24).toString('hex');
  readonly #scheduler = randomBytes(24).toString('hex');
  readonly #processes = new Map<string, ChildProcess>();
  readonly #agent: https.Agent;

  private constructor(bin: string, folder: string, ports: readonly number[]) {
    const [etcd = 0, peer = 0, api = 0, kwok = 0] = ports;
    this.#bin = bin;
    this.folder = folder;
    this.#ports = { etcd, peer, api, kwok };
    this.url = `https://127.0.0.1:${api}`;
    this.etcdUrl = `http://127.0.0.1:${etcd}`;
    this.#agent = new https.Agent({ keepAlive: true, ca: readFileSync(join(folder, 'ca.crt')) });
  }

  /** @param folder with a CA, as {@link makeAuthority} makes it */
  static async start(bin: string, folder: string): Promise<ControlPlane> {
    const plane = new ControlPlane(bin, folder, await freePorts(4));
    plane.newSigningKey();
    plane.#certificate();
    writeFileSync(
      join(folder, 'tokens.csv'),
      `${plane.#admin},admin,admin,"system:masters"\n${plane.#scheduler},system:kube-scheduler,system:kube-scheduler\n`,
    );
    plane.#kubeconfig('admin.kubeconfig', plane.#admin);
    plane.#kubeconfig('scheduler.kubeconfig', plane.#scheduler);
    plane.#launch('etcd', [
      ...[
        '--name',
        'test',
        '--data-dir',
        join(folder, 'etcd'),
        '--unsafe-no-fsync',
        '--log-level',
        'warn',
        '--logger',
        'zap',
      ],
      ...['--listen-client-urls', plane.etcdUrl, '--advertise-client-urls', plane.etcdUrl],
      ...['--listen-peer-urls', `http://127.0.0.1:${plane.#ports.peer}`],
      ...['--initial-advertise-peer-urls', `http://127.0.0.1:${plane.#ports.peer}`],
      ...['--initial-cluster', `test=http://127.0.0.1:${plane.#ports.peer}`],
    ]);
    await plane.startApiServer();
    const kubeconfig = join(folder, 'scheduler.kubeconfig');
    plane.#launch('kube-scheduler', [
      ...[
        '--kubeconfig',
        kubeconfig,
        '--authentication-kubeconfig',
        kubeconfig,
        '--authorization-kubeconfig',
        kubeconfig,
      ],
      ...['--leader-elect=false', '--bind-address', '127.0.0.1', '--secure-port', '0', '--v', '1'],
    ]);
    plane.#launch('kwok', [
      ...['--config', join(bin, 'kwok-stages.yaml'), '--kubeconfig', join(folder, 'admin.kubeconfig')],
      ...['--manage-all-nodes=true', '--node-ip', '127.0.0.1', '--cidr', '10.1.0.0/16'],
      ...['--server-address', `127.0.0.1:${plane.#ports.kwok}`, '--v=-1'],
    ]);
    return plane;
  }

  /** Signs service account tokens from the next start of the API server on; older ones are worth nothing then. */
  newSigningKey(): void {
    openssl('genrsa', '-out', join(this.folder, 'sa.key'), '2048');
  }

  async startApiServer(): Promise<void> {
    const file = (name: string) => join(this.folder, name);
    this.#launch('kube-apiserver', [
      // What is stored can be read by tests.
      ...['--storage-media-type', 'application/json'],
      ...['--etcd-servers', this.etcdUrl, '--bind-address', '127.0.0.1', '--advertise-address', '127.0.0.1'],
      ...['--secure-port', String(this.#ports.api), '--endpoint-reconciler-type', 'none'],
      ...[
        '--tls-cert-file',
        file('api.crt'),
        '--tls-private-key-file',
        file('api.key'),
        '--cert-dir',
        file('certs'),
      ],
      ...['--token-auth-file', file('tokens.csv'), '--authorization-mode', 'Node,RBAC', '--allow-privileged'],
      // No controllers make accounts, or take taints off new nodes.
      ...['--disable-admission-plugins', 'ServiceAccount,TaintNodesByCondition'],
      // Its tokens are verified by whoever fetches its keys.
      ...[
        '--service-account-issuer',
        this.url,
        '--service-account-jwks-uri',
        `${this.url}/openid/v1/jwks`,
        '--api-audiences',
        this.url,
      ],
      ...['--service-account-signing-key-file', file('sa.key'), '--service-account-key-file', file('sa.key')],
      ...['--service-cluster-ip-range', '10.0.0.0/24', '--profiling=false', '--v', '1'],
    ]);
    const deadline = Date.now() + 120_000;
    for (;;) {
      const ready = await this.api('GET', '/readyz').catch(() => undefined);
      if (ready?.status === 200) return;
      if (Date.now() > deadline)
        throw new Error(`The API server is not ready; see ${join(this.folder, 'kube-apiserver.log')}.`);
      await sleep(200);
    }
  }

  async killApiServer(): Promise<void> {
    await this.#end('kube-apiserver', 'SIGKILL');
  }

  /** Forgets all versions but the present one. */
  async compact(): Promise<void> {
    const post = async (path: string, body: unknown) =>
      (await fetch(`${this.etcdUrl}${path}`, { method: 'POST', body: JSON.stringify(body) })).json();
    const range = (await post('/v3/kv/range', { key: Buffer.from('x').toString('base64') })) as {
      header: { revision: string };
    };
    await post('/v3/kv/compaction', { revision: range.header.revision, physical: true });
  }

  /** A request of an administrator. */
  async api(
    method: string,
    path: string,
    body?: unknown,
    contentType = 'application/json',
  ): Promise<ApiResponse> {
    const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    return new Promise((resolve, reject) => {
      const request = https.request(
        `${this.url}${path}`,
        {
          agent: this.#agent,
          method,
          timeout: 30_000,
          headers: {
            authorization: `Bearer ${this.#admin}`,
            ...(payload === undefined
              ? {}
              : { 'content-type': contentType, 'content-length': payload.length }),
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8');
            let parsed: unknown = text;
            try {
              parsed = JSON.parse(text);
            } catch {}
            resolve({ status: response.statusCode ?? 0, body: parsed });
          });
        },
      );
      request.on('error', reject);
      request.on('timeout', () => request.destroy(new Error('timeout')));
      request.end(payload);
    });
  }

  /** As {@link api}, for what is to succeed. */
  async must(method: string, path: string, body?: unknown, contentType?: string): Promise<unknown> {
    const response = await this.api(method, path, body, contentType);
    if (response.status >= 200 && response.status < 300) return response.body;
    throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(response.body).slice(0, 500)}`);
  }

  async patch(path: string, patch: unknown): Promise<unknown> {
    return this.must('PATCH', path, patch, 'application/merge-patch+json');
  }

  async stop(): Promise<void> {
    for (const name of [...this.#processes.keys()].reverse()) await this.#end(name, 'SIGTERM');
    this.#agent.destroy();
  }

  #launch(name: string, args: readonly string[]): void {
    const log = openSync(join(this.folder, `${name}.log`), 'a');
    const child = endsWithUs(
      spawn(join(this.#bin, name), args, { stdio: ['ignore', log, log], cwd: this.folder }),
    );
    closeSync(log);
    this.#processes.set(name, child);
  }

  async #end(name: string, signal: NodeJS.Signals): Promise<void> {
    const child = this.#processes.get(name);
    this.#processes.delete(name);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    const patience = setTimeout(() => child.kill('SIGKILL'), 10_000);
    await gone;
    clearTimeout(patience);
  }

  #certificate(): void {
    const file = (name: string) => join(this.folder, name);
    writeFileSync(
      file('api.ext'),
      'subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc\nextendedKeyUsage=serverAuth\n',
    );
    openssl(
      'req',
      '-new',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-keyout',
      file('api.key'),
      '-out',
      file('api.csr'),
      '-subj',
      '/CN=kube-apiserver',
    );
    openssl(
      'x509',
      '-req',
      '-in',
      file('api.csr'),
      '-CA',
      file('ca.crt'),
      '-CAkey',
      file('ca.key'),
      '-CAcreateserial',
      '-days',
      '2',
      '-out',
      file('api.crt'),
      '-extfile',
      file('api.ext'),
    );
  }

  #kubeconfig(name: string, token: string): void {
    writeFileSync(
      join(this.folder, name),
      JSON.stringify(kubeconfigOf(this.url, join(this.folder, 'ca.crt'), { token })),
      { mode: 0o600 },
    );
  }
}

/** A kubeconfig of one user, in JSON, which is YAML too. */
export function kubeconfigOf(server: string, ca: string, user: object): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority': ca } }],
    users: [{ name: 'me', user }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'me' } }],
    'current-context': 'test',
  };
}

/** A certificate authority, as `ca.crt` and `ca.key`: made first, since Node reads NODE_EXTRA_CA_CERTS when it starts. */
export function makeAuthority(folder: string): string {
  mkdirSync(folder, { recursive: true });
  const file = (name: string) => join(folder, name);
  openssl(
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-keyout',
    file('ca.key'),
    '-out',
    file('ca.crt'),
    '-days',
    '2',
    '-subj',
    '/CN=test-ca',
    '-addext',
    'basicConstraints=critical,CA:TRUE',
    '-addext',
    'keyUsage=critical,keyCertSign,cRLSign',
  );
  return file('ca.crt');
}

function openssl(...args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** Below what the system gives to connections: between the look and the use nobody else takes them. */
const PORTS = { first: 20_000, count: 12_000 };

export async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = PORTS.first + randomInt(PORTS.count);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

const started = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of started) child.kill('SIGKILL');
});

/** Ends with this process, however that ends. */
export function endsWithUs(child: ChildProcess): ChildProcess {
  started.add(child);
  child.once('exit', () => started.delete(child));
  return child;
}
