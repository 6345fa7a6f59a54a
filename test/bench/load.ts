/** Keeps a server busy and measures it: requests a second, latency, and the CPU time of its process. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';

export interface Measured {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU time of the server's process, user and system, for each request. */
  readonly cpuMs: number;
  /** Resident memory of the server's process at the end. */
  readonly rssMb: number;
  /** Bytes of one answer. */
  readonly bytes: number;
}

/** Requests under way at once: enough to keep the server busy while answers are read. */
const CONCURRENCY = 4;
const WARM_UP_MS = 500;

/** Asks over and over for `durationMs`; `ask` gives the bytes of an answer. */
export async function measure(
  ask: (lane: number) => Promise<number>,
  pid: number,
  durationMs: number,
): Promise<Measured> {
  await run(ask, WARM_UP_MS);
  const cpuBefore = cpuMsOf(pid);
  const startedMs = performance.now();
  const { latencies, bytes } = await run(ask, durationMs);
  const elapsedMs = performance.now() - startedMs;
  const cpuMs = (cpuMsOf(pid) - cpuBefore) / latencies.length;
  latencies.sort((a, b) => a - b);
  return {
    perSecond: (latencies.length / elapsedMs) * 1_000,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    cpuMs,
    rssMb: rssMbOf(pid),
    bytes,
  };
}

async function run(
  ask: (lane: number) => Promise<number>,
  durationMs: number,
): Promise<{ latencies: number[]; bytes: number }> {
  const latencies: number[] = [];
  let bytes = 0;
  const untilMs = performance.now() + durationMs;
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async (_, lane) => {
      while (performance.now() < untilMs) {
        const startedMs = performance.now();
        bytes = await ask(lane);
        latencies.push(performance.now() - startedMs);
      }
    }),
  );
  return { latencies, bytes };
}

function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

/** User and system time of a process; Linux counts them in ticks of 10 ms. */
function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function rssMbOf(pid: number): number {
  const kb = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kb) / 1_024;
}

/** Asks an HTTP server, reading the answer and dropping it. */
export function httpAsker(
  url: string,
  options: {
    readonly method?: string;
    readonly headers: Record<string, string>;
    readonly body?: Uint8Array;
    readonly status?: number;
  },
): (lane: number) => Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });
  const { method = 'GET', headers, body, status = 200 } = options;
  return () =>
    new Promise((resolve, reject) => {
      const asked = request(url, { agent, method, headers }, (response) => {
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
        });
        response.on('end', () => {
          if (response.statusCode === status) resolve(bytes);
          else reject(new Error(`${method} ${url} answered ${response.statusCode}`));
        });
      });
      asked.on('error', reject);
      asked.end(body);
    });
}
