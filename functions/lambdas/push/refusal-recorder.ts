/**
 * Records refused pushes, so that an agent whose every push is refused shows in its cluster's
 * status. A write a minute for a cluster and process: an agent pushes every few seconds.
 */
import { InvalidSnapshotError, ResourceMapError } from '../../core/errors.ts';
import { cutUtf8 } from '../../core/snapshot/identity.ts';
import { PROBLEMS } from '../../http/status.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import type { RefusalStore } from '../../storage/refusals.ts';

const RECORD_INTERVAL_MS = 60_000;

/** With the rest of the item within one write unit. */
const MAX_MESSAGE_BYTES = 200;

/** Of clusters whose refusals are counted: some 100 bytes each. The ones first refused longest ago make room. */
const MAX_CLUSTERS = 10_000;

interface Refused {
  readonly sinceMs: number;
  count: number;
  recordedAtMs: number;
}

export class RefusalRecorder {
  /** Since the last push of the cluster that this process accepted. */
  readonly #refused = new Map<string, Refused>();

  constructor(
    private readonly refusals: RefusalStore,
    private readonly telemetry: Telemetry,
  ) {}

  /** Starts to count again: what was recorded is void by the head that was written. */
  accepted(clusterId: string): void {
    this.#refused.delete(clusterId);
  }

  /**
   * Counts an error of a push and records it, at most once a minute a cluster. Errors of the
   * service, and requests to come back later, are not the agent's and are not recorded. Never
   * throws: a record that could not be written must not replace the agent's own response.
   *
   * @param nowMs the service's clock
   */
  async refused(clusterId: string, thrown: unknown, nowMs: number): Promise<void> {
    const error = ResourceMapError.from(thrown);
    const { status } = PROBLEMS[error.code];
    if (status >= 500 || status === 429) return;
    const refused = this.#countedOf(clusterId, nowMs);
    refused.count++;
    if (nowMs - refused.recordedAtMs < RECORD_INTERVAL_MS) return;
    refused.recordedAtMs = nowMs;
    const { code, message } = reasonOf(error);
    try {
      await this.refusals.put({
        clusterId,
        atMs: nowMs,
        sinceMs: refused.sinceMs,
        code,
        message: cutUtf8(message, MAX_MESSAGE_BYTES),
        count: refused.count,
      });
    } catch (cause) {
      refused.recordedAtMs = Number.NEGATIVE_INFINITY;
      this.telemetry.error('refusal not recorded', { clusterId, code, cause });
    }
  }

  #countedOf(clusterId: string, nowMs: number): Refused {
    const known = this.#refused.get(clusterId);
    if (known !== undefined) return known;
    const [oldest] = this.#refused.keys();
    if (this.#refused.size >= MAX_CLUSTERS && oldest !== undefined) this.#refused.delete(oldest);
    const refused = { sinceMs: nowMs, count: 0, recordedAtMs: Number.NEGATIVE_INFINITY };
    this.#refused.set(clusterId, refused);
    return refused;
  }
}

/** The first rule that refused the snapshot, if one did: "invalid_snapshot" tells nobody what to do. */
function reasonOf(error: ResourceMapError): { readonly code: string; readonly message: string } {
  if (error instanceof InvalidSnapshotError) {
    const reject = error.details.findings?.find(({ severity }) => severity === 'reject');
    if (reject !== undefined) return reject;
  }
  return { code: error.code, message: error.detail };
}
