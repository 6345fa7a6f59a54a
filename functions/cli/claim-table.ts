/** Claims as tables for people. */
import { type Claim, ClaimState } from '../gen/resourcemap/v1/claims_pb.ts';
import { ageText } from '../terminal/age.ts';
import { printable } from '../terminal/printable.ts';
import { table } from '../terminal/table.ts';

export const NO_CLAIM = 'No claims. Make one with "rmap claim create".';

export function claimTable(claims: readonly Claim[]): string {
  return table(
    [
      { title: 'CLUSTER' },
      { title: 'ID' },
      { title: 'STATE' },
      { title: 'JOB' },
      { title: 'CHAINS', align: 'right' },
      { title: 'ACCELERATORS', align: 'right' },
      { title: 'LEFT', align: 'right' },
      { title: 'BACKED' },
      { title: 'OWNER' },
    ],
    claims.map((claim) => [
      claim.clusterId,
      claim.id,
      stateText(claim),
      claim.jobId,
      String(claim.remainingChains),
      String(acceleratorsOf(claim)),
      isLive(claim) ? ageText(claim.expiresIn) : '-',
      isLive(claim) ? backedText(claim) : '-',
      claim.owner,
    ]),
  );
}

/** A claim as lines: what it is, and on which targets. */
export function claimLines(claim: Claim): readonly string[] {
  const lines = [claimTable([claim])];
  for (const { rankId, chains, targets, acceleratorCounts } of claim.placements) {
    const pods = targets.map(
      ({ poolId, nodeTypeId }, pod) => `${acceleratorCounts[pod] ?? 0} on ${poolId}/${nodeTypeId}`,
    );
    lines.push(
      printable(`${rankId === '' ? 'any rank' : `rank ${rankId}`}, ${chains} × [${pods.join(', ')}]`),
    );
  }
  if (claim.reason !== '') lines.push(printable(claim.reason));
  return lines;
}

function stateText({ state, lapsed, releasing }: Claim): string {
  const name = ClaimState[state]?.toLowerCase() ?? String(state);
  if (releasing) return `${name}, releasing`;
  return lapsed ? `${name}, lapsed` : name;
}

function isLive({ state }: Claim): boolean {
  return state === ClaimState.HELD || state === ClaimState.CONFIRMED;
}

function backedText({ backed }: Claim): string {
  if (backed === undefined) return 'undecided';
  return backed ? 'yes' : 'no';
}

function acceleratorsOf({ placements }: Claim): number {
  return placements.reduce(
    (sum, { chains, acceleratorCounts }) =>
      sum + chains * acceleratorCounts.reduce((all, count) => all + count, 0),
    0,
  );
}
