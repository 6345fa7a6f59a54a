/**
 * What accepting a claim costs in the full ledger of a large cluster.
 *
 *     npm run bench:claims
 *
 * The sample of 1,523 nodes, with claims of one, two and four accelerators. Each sample is the acceptance of the last
 * claim that a ledger may have, as a service does it once ledger and content are read: evaluate, pack, record. The
 * same with an empty ledger is what the ratio is against. Times are the process's own CPU time.
 */
import { readFileSync } from 'node:fs';
import { create } from '@bufbuild/protobuf';
import { newClaimId } from '../../functions/client/claim-id.ts';
import { clusterView } from '../../functions/core/capacity/view/view.ts';
import { admit } from '../../functions/core/claims/admit.ts';
import { chainFactsOf } from '../../functions/core/claims/chain-facts.ts';
import { parseClaimId } from '../../functions/core/claims/claim-id.ts';
import { parseClaimRequest } from '../../functions/core/claims/claim-request.ts';
import { MAX_LIVE_CLAIMS } from '../../functions/core/claims/limits.ts';
import { decodeSnapshot } from '../../functions/core/snapshot/decode.ts';
import { atOnce } from '../../functions/core/stepwise.ts';
import { ClaimRequestSchema } from '../../functions/gen/resourcemap/v1/claims_pb.ts';
import { type Ledger, LedgerSchema } from '../../functions/gen/resourcemap/v1/ledger_pb.ts';
import { SHORT } from './short.ts';

const ROUNDS = SHORT ? 3 : 200;
const SAMPLE = new URL('../../functions/local/samples/openb-instant-t2.json', import.meta.url);

const snapshot = decodeSnapshot(readFileSync(SAMPLE), 'json');
const content = { view: clusterView(snapshot), facts: chainFactsOf(snapshot) };
const nowMs = Date.now();
const head = {
  counter: snapshot.logicalCounter,
  collectedAtMs: nowMs,
  observedMs: nowMs,
  omittedAtMs: undefined,
};
const settings = { maxClockAheadMs: 300_000, retireAfterMs: 86_400_000 };

function accepted(ledger: Ledger, index: number): Ledger {
  const request = parseClaimRequest(
    create(ClaimRequestSchema, {
      jobId: `job-${index}`,
      ranks: [{ podRequirements: [{ acceleratorCount: [1, 2, 4][index % 3] ?? 1 }] }],
    }),
  );
  const admission = atOnce(
    admit({
      id: parseClaimId(newClaimId()),
      owner: `scheduler-${index % 4}`,
      request,
      ledger,
      fence: BigInt(index + 1),
      head,
      content,
      nowMs,
      settings,
    }),
  );
  if (admission.kind !== 'accepted') throw new Error('The sample has the chain already.');
  return admission.ledger;
}

function samplesMs(ledger: Ledger, index: number): readonly number[] {
  for (let warm = 0; warm < 20; warm++) accepted(ledger, index);
  const samples = Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage();
    accepted(ledger, index);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  });
  return samples.sort((a, b) => a - b);
}

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;

const empty = create(LedgerSchema);
let full = empty;
for (let index = 0; index < MAX_LIVE_CLAIMS - 1; index++) full = accepted(full, index);
const [first, last] = [samplesMs(empty, 0), samplesMs(full, MAX_LIVE_CLAIMS - 1)];
for (const [name, share] of [
  ['p50', 0.5],
  ['p99', 0.99],
] as const) {
  const [alone, behind] = [quantile(first, share), quantile(last, share)];
  console.log(
    `${name} of accepting claim ${MAX_LIVE_CLAIMS}: ${behind.toFixed(1)} ms, ${(behind / alone).toFixed(1)} times the first claim's ${alone.toFixed(1)} ms`,
  );
}
