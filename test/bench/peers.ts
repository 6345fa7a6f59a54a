/** etcd and redis, holding the same bodies, asked for all of them in one request. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../engines/dynamodb-local.ts';

/** A running peer that holds values by key. */
export interface Peer {
  readonly pid: number;
  /** Asks for every value; gives the bytes of the answer. */
  readonly ask: (lane: number) => Promise<number>;
  close(): Promise<void>;
}

const PREFIX = 'clusters/';

export function isInstalled(program: string): boolean {
  return spawnSync(program, ['--version']).status === 0;
}

/** Redis in memory, without persistence; all keys by MGET. */
export async function startRedis(values: readonly Uint8Array[]): Promise<Peer> {
  const port = await freePort();
  const child = spawn(
    'redis-server',
    ['--port', String(port), '--save', '', '--appendonly', 'no', '--bind', '127.0.0.1'],
    {
      stdio: 'ignore',
    },
  );
  const lanes: Socket[] = [];
  for (let lane = 0; lane < 4; lane++) lanes.push(await connectWithRetries(port));
  const [first] = lanes;
  if (first === undefined) throw new Error('redis has no connection');
  const keys = values.map((_, index) => Buffer.from(`${PREFIX}${index}`));
  for (const [index, value] of values.entries()) {
    await exchange(first, command(['SET', keys[index] ?? '', value]), 5);
  }
  const mget = command(['MGET', ...keys]);
  // The reply's length is known: *n, then $length and the value for each, each line with CRLF.
  let replyBytes = `*${values.length}\r\n`.length;
  for (const value of values) replyBytes += `$${value.length}\r\n`.length + value.length + 2;
  return {
    pid: pidOf(child),
    ask: async (lane) => {
      const socket = lanes[lane];
      if (socket === undefined) throw new Error(`redis has no lane ${lane}`);
      await exchange(socket, mget, replyBytes);
      return replyBytes;
    },
    close: async () => {
      for (const socket of lanes) socket.destroy();
      await stop(child);
    },
  };
}

/** A command in RESP, the protocol of redis. */
function command(parts: readonly (string | Uint8Array)[]): Buffer {
  return Buffer.concat([
    Buffer.from(`*${parts.length}\r\n`),
    ...parts.flatMap((part) => [
      Buffer.from(`$${part.length}\r\n`),
      Buffer.from(part as Uint8Array),
      Buffer.from('\r\n'),
    ]),
  ]);
}

/** Writes, and resolves once so many bytes came back. */
function exchange(socket: Socket, bytes: Uint8Array, replyBytes: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let left = replyBytes;
    const onData = (chunk: Buffer): void => {
      left -= chunk.length;
      if (left > 0) return;
      socket.off('data', onData).off('error', reject);
      if (left < 0) reject(new Error(`the reply is ${-left} bytes longer than expected`));
      else resolve();
    };
    socket.on('data', onData).once('error', reject);
    socket.write(bytes);
  });
}

/** etcd with one member; all keys by one Range over the prefix, in gRPC as its own clients send it. */
export async function startEtcd(values: readonly Uint8Array[]): Promise<Peer> {
  const folder = mkdtempSync(join(tmpdir(), 'rmap-bench-etcd-'));
  const port = await freePort();
  const peerPort = await freePort();
  const child = spawn(
    'etcd',
    [
      ['--data-dir', folder],
      ['--listen-client-urls', `http://127.0.0.1:${port}`],
      ['--advertise-client-urls', `http://127.0.0.1:${port}`],
      ['--listen-peer-urls', `http://127.0.0.1:${peerPort}`],
      ['--initial-advertise-peer-urls', `http://127.0.0.1:${peerPort}`],
      ['--initial-cluster', `default=http://127.0.0.1:${peerPort}`],
      // The bench measures reads; writes need not survive it.
      ['--unsafe-no-fsync'],
    ].flat(),
    { stdio: 'ignore' },
  );
  (await connectWithRetries(port)).destroy();
  const session = connectHttp2(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 2 ** 24 } });
  await once(session, 'connect');
  session.on('error', () => undefined);
  session.setLocalWindowSize(2 ** 26);

  const call = (method: string, message: Uint8Array): Promise<number> =>
    new Promise((resolve, reject) => {
      const stream = session.request({
        ':method': 'POST',
        ':path': `/etcdserverpb.KV/${method}`,
        'content-type': 'application/grpc',
        te: 'trailers',
      });
      let bytes = 0;
      stream.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      stream.on('trailers', (trailers) => {
        if (trailers['grpc-status'] !== '0') reject(new Error(`etcd: ${trailers['grpc-message']}`));
      });
      stream.on('error', reject);
      stream.on('end', () => resolve(bytes));
      const frame = Buffer.alloc(5);
      frame.writeUInt32BE(message.length, 1);
      stream.end(Buffer.concat([frame, message]));
    });

  // A member that has just started has no leader for a moment.
  for (let attempt = 0; ; attempt++) {
    try {
      await call('Range', fields([PREFIX]));
      break;
    } catch (error) {
      if (attempt > 50) throw error;
      await sleep(100);
    }
  }
  for (const [index, value] of values.entries()) await call('Put', fields([`${PREFIX}${index}`, value]));
  // key = the prefix, range_end = the prefix with its last byte one higher.
  const range = fields([PREFIX, 'clusters0']);
  return {
    pid: pidOf(child),
    ask: () => call('Range', range),
    close: async () => {
      session.destroy();
      await stop(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A protobuf message whose fields 1, 2, … are these bytes. */
function fields(values: readonly (string | Uint8Array)[]): Buffer {
  return Buffer.concat(
    values.flatMap((value, index) => {
      const bytes = Buffer.from(value as Uint8Array);
      const head = [((index + 1) << 3) | 2];
      let length = bytes.length;
      for (; length > 127; length >>>= 7) head.push((length & 127) | 128);
      head.push(length);
      return [Buffer.from(head), bytes];
    }),
  );
}

async function connectWithRetries(port: number): Promise<Socket> {
  for (let attempt = 0; ; attempt++) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      // An idle connection ends with the peer; one under way fails its request.
      return socket.setNoDelay(true).on('error', () => undefined);
    } catch (error) {
      if (attempt > 100) throw error;
      await sleep(100);
    }
  }
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('the process did not start');
  return child.pid;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}
