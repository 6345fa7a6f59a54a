/** Milliseconds of requests since the last look. */
export class Latencies {
  #values: number[] = [];

  async time<T>(call: () => Promise<T>): Promise<T> {
    const startedMs = performance.now();
    const result = await call();
    this.#values.push(performance.now() - startedMs);
    return result;
  }

  /** And forgets them. Times that include a client's retries: what its user waits. */
  take(): { readonly count: number; readonly p50: number; readonly p99: number } {
    const sorted = this.#values.sort((a, b) => a - b);
    this.#values = [];
    const at = (share: number): number => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0);
    return { count: sorted.length, p50: at(0.5), p99: at(0.99) };
  }
}
