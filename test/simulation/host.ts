/**
 * Makes a process deterministic: its clocks, timers, random numbers and compression are those of
 * the simulation. To be imported before any code of the service, which takes these from Node when
 * it is loaded or when it runs; `syncBuiltinESMExports` renews what named imports see.
 *
 * Compression runs on libuv's threads otherwise, whose order no seed decides.
 */
import { createHash } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import zlib from 'node:zlib';

/** What the simulation gives in place of Node's own. */
export interface Host {
  /** Milliseconds since the epoch by the clock of whoever runs now. */
  wallMs(): number;
  /** Milliseconds that no adjustment of a clock moves. */
  monotonicMs(): number;
  /** From 0 up to 1. */
  random(): number;
  /** Runs `callback` later, unless whoever runs now has died by then. Returns what cancels it. */
  later(ms: number, callback: () => void): () => void;
}

const real = { setImmediate: globalThis.setImmediate, now: performance.now.bind(performance) };

let host: Host | undefined;

/** The host of the simulation that runs; one at a time. */
export function setHost(next: Host | undefined): void {
  host = next;
}

/** Real milliseconds, for progress and figures. */
export function realMs(): number {
  return real.now();
}

/** Lets everything run that waits for no timer and no message. */
export async function settle(): Promise<void> {
  // The second turn is for what streams put off until the next one.
  for (let turn = 0; turn < 2; turn++) await new Promise<void>((resolve) => real.setImmediate(resolve));
}

function current(): Host {
  if (host === undefined) throw new Error('No simulation runs.');
  return host;
}

const originals = {
  random: Math.random,
  now: Date.now,
  performanceNow: performance.now.bind(performance),
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
};

Math.random = () => (host === undefined ? originals.random() : host.random());
Date.now = () => (host === undefined ? originals.now() : host.wallMs());
performance.now = () => (host === undefined ? originals.performanceNow() : host.monotonicMs());

const cancels = new Map<object, () => void>();

function simulatedTimeout(callback: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): object {
  if (host === undefined) return originals.setTimeout(callback, ms, ...args);
  const handle = { unref: () => handle, ref: () => handle, hasRef: () => false };
  const cancel = host.later(ms, () => {
    cancels.delete(handle);
    callback(...args);
  });
  cancels.set(handle, cancel);
  return handle;
}

globalThis.setTimeout = simulatedTimeout as typeof setTimeout;
globalThis.clearTimeout = ((handle: object | undefined) => {
  const cancel = handle === undefined ? undefined : cancels.get(handle);
  if (cancel === undefined) originals.clearTimeout(handle as never);
  else {
    cancels.delete(handle as object);
    cancel();
  }
}) as typeof clearTimeout;

AbortSignal.timeout = (ms: number): AbortSignal => {
  const controller = new AbortController();
  current().later(ms, () => controller.abort(new DOMException('The operation timed out.', 'TimeoutError')));
  return controller.signal;
};

timers.setTimeout = (<T>(ms?: number, value?: T, options: { signal?: AbortSignal } = {}): Promise<T> =>
  new Promise<T>((resolve, reject) => {
    const { signal } = options;
    signal?.throwIfAborted();
    const abort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = current().later(ms ?? 0, () => {
      signal?.removeEventListener('abort', abort);
      resolve(value as T);
    });
    signal?.addEventListener('abort', abort, { once: true });
  })) as typeof timers.setTimeout;

type Transform = (input: Buffer, options?: object) => Buffer;
type Callback = (error: Error | null, result?: Buffer) => void;

/** The same bytes, at once. */
function immediately(transform: Transform) {
  return (input: Buffer, options: object | Callback, callback?: Callback): void => {
    const [settings, done] = typeof options === 'function' ? [{}, options] : [options, callback];
    queueMicrotask(() => {
      let result: Buffer;
      try {
        result = transform(input, settings);
      } catch (error) {
        return done?.(error as Error);
      }
      done?.(null, result);
    });
  };
}

Object.assign(zlib, {
  deflateRaw: immediately(zlib.deflateRawSync as Transform),
  inflateRaw: immediately(zlib.inflateRawSync as Transform),
  gzip: immediately(zlib.gzipSync as Transform),
  gunzip: immediately(zlib.gunzipSync as Transform),
});

// Web Crypto and compression streams run on threads too.
Object.defineProperty(globalThis.crypto.subtle, 'digest', {
  value: async (_algorithm: string, data: Uint8Array) =>
    new Uint8Array(createHash('sha256').update(data).digest()).buffer,
});
Object.defineProperty(globalThis, 'CompressionStream', { value: undefined });

syncBuiltinESMExports();
