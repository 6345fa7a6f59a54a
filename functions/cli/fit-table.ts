/** Fit answers as a person reads them: the verdict, then a line for each candidate. */
import type { FitCandidate, PackedNodes, ShapeFit } from '../gen/resourcemap/v1/capacity_pb.ts';
import { printable } from '../terminal/printable.ts';
import { table } from '../terminal/table.ts';

/** The lines for one shape. */
export function fitLines(shape: ShapeFit, index: number): readonly string[] {
  const name = shape.name === '' ? `shape ${index + 1}` : `shape ${index + 1}, ${shape.name}`;
  const chains = shape.chains === 1 ? '1 chain' : `${shape.chains} chains`;
  const lines = [printable(`${name}, ${chains}: ${verdict(shape)}`)];
  if (shape.candidates.length > 0) lines.push(candidateTable(shape.candidates));
  if (shape.omittedCandidates > 0) lines.push(`… and ${shape.omittedCandidates} more candidates`);
  return lines;
}

function verdict(shape: ShapeFit): string {
  if (shape.fits === undefined) return 'undecided';
  return shape.fits ? 'fits' : `does not fit; ${shape.reason}`;
}

function candidateTable(candidates: readonly FitCandidate[]): string {
  return table(
    [
      { title: 'CLUSTER' },
      { title: 'FABRIC/ZONE' },
      { title: 'FITS' },
      { title: 'AT MOST', align: 'right' },
      { title: 'WITH SCALE-OUT', align: 'right' },
      { title: 'PRICE/H', align: 'right' },
      { title: 'WHERE, OR WHY NOT' },
    ],
    candidates.map((candidate) => [
      candidate.clusterId,
      [candidate.fabricId, candidate.zone].filter((part) => part !== '').join(' ') || '-',
      fitsText(candidate),
      boundsText(candidate.maxChains, candidate.maxChainsAtLeast, candidate.maxChainsAtMost),
      boundsText(
        candidate.maxChainsWithScaleOut,
        candidate.maxChainsWithScaleOutAtLeast,
        candidate.maxChainsWithScaleOutAtMost,
      ),
      candidate.pricePerHour === undefined
        ? '?'
        : `${candidate.priceRoundedUp ? '~' : ''}${candidate.pricePerHour.decimalAmount} ${candidate.pricePerHour.currencyCode}`,
      candidate.fits === true ? witnessText(candidate.witness) : whyNot(candidate),
    ]),
  );
}

function fitsText({ fits, fitsWithScaleOut }: FitCandidate): string {
  if (fits === true) return 'now';
  if (fitsWithScaleOut === true) return 'with scale-out';
  return fits === undefined ? 'undecided' : 'no';
}

function boundsText(
  exact: bigint | undefined,
  atLeast: bigint | undefined,
  atMost: bigint | undefined,
): string {
  if (exact !== undefined) return String(exact);
  return atLeast === undefined || atMost === undefined ? '?' : `${atLeast}–${atMost}`;
}

/** Node groups of a witness written out; the whole of it is in `--json`. */
const GROUPS_SHOWN = 3;

function witnessText(witness: readonly PackedNodes[]): string {
  const groups = witness.slice(0, GROUPS_SHOWN).map(({ poolId, nodeTypeId, nodes, free, pods }) => {
    const sizes = pods.flatMap(({ acceleratorCount, pods }) =>
      new Array<number>(Math.min(pods, 8)).fill(acceleratorCount),
    );
    return `${poolId}/${nodeTypeId}: ${sizes.join('+')} on ${nodes} with ${free} free`;
  });
  return [...groups, ...(witness.length > GROUPS_SHOWN ? ['…'] : [])].join('; ');
}

function whyNot({ reason, scaleOutNodes }: FitCandidate): string {
  if (scaleOutNodes.length === 0) return reason;
  const nodes = scaleOutNodes.map(
    ({ poolId, nodeTypeId, nodes, pendingNodes }) =>
      `${nodes} more of ${poolId}/${nodeTypeId}${pendingNodes > 0n ? ` (${pendingNodes} on their way)` : ''}`,
  );
  return `${nodes.join(', ')} would do; now it ${reason}`;
}
