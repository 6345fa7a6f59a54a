/** One service process of a history, whose clock runs faster than time and may differ from those of the others. */
import type { ScaledTime } from './scaled-time.ts';
import { scaledClock } from './scaled-time.ts';

/** How a process is started: the only argument, as JSON. */
export interface ServiceRole {
  readonly endpoint: string;
  readonly time: ScaledTime;
  readonly offsetMs: number;
  readonly losesWrites: boolean;
}

const { endpoint, time, offsetMs, losesWrites } = JSON.parse(process.argv[2] ?? '') as ServiceRole;
Date.now = scaledClock(time, offsetMs);
const { startService } = await import('../../functions/local/service.ts');
const { jsonLinesTelemetry } = await import('../../functions/runtime/telemetry.ts');
if (losesWrites) {
  const { LedgerStore } = await import('../../functions/storage/ledgers.ts');
  const replace = LedgerStore.prototype.replace;
  LedgerStore.prototype.replace = async function (seen, next, nowMs) {
    return replace.call(this, await this.read(seen.clusterId), next, nowMs);
  };
}
const { url } = await startService({
  engine: { kind: 'endpoint', endpoint },
  port: 0,
  host: '127.0.0.1',
  sweepEveryMs: 4_000,
  // A process that is killed has much to say; what counts is what its callers see.
  telemetry: jsonLinesTelemetry(() => undefined),
});
process.stdout.write(`${JSON.stringify({ url })}\n`);
