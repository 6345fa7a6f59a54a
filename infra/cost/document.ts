/** docs/cost.md, from the measured units and the model. */
import { table } from '../reference.ts';
import {
  type Bill,
  CLAIM_UNITS,
  claimSweepBill,
  claimsBill,
  HABITS,
  monthlyBill,
  naiveBill,
  PARTS,
  PRICES,
  total,
  type Units,
} from './model.ts';

const FLEETS = [10, 100, 1_000, 10_000];

export function costDocument(units: Units, sample: string): string {
  const ours = FLEETS.map((clusters) => monthlyBill(clusters, units));
  const naive = FLEETS.map((clusters) => naiveBill(clusters, units));
  return `# What it costs

Written by \`npm run cost\` from measured units; a test measures them again.

US dollars a month, without free tiers or savings plans. The prices are those of us-east-1 at the end of 2025 as
we remember them, not read from AWS: check them on its pricing pages. They stand in one place, \`infra/cost/model.ts\`.

Every cluster pushes each ${HABITS.pushIntervalS} s, and one push in ${Math.round(1 / HABITS.changedShare)} changes something. ${HABITS.schedulers} schedulers sync each ${HABITS.syncIntervalS} s.
Each cluster is as large as the sample \`${sample}\`.

## By size of the fleet

${fleetTable(ours)}

${table(
  ['clusters', ...FLEETS.map((clusters) => withCommas(clusters))],
  [
    ['this service', ...ours.map((bill) => dollars(total(bill)))],
    ['the naive design', ...naive.map((bill) => dollars(total(bill)))],
    ['ratio', ...ours.map((bill, i) => `${(total(naive[i] ?? bill) / total(bill)).toFixed(1)} ×`)],
    ['a cluster, here', ...ours.map((bill, i) => dollars(total(bill) / (FLEETS[i] ?? 1)))],
  ],
)}

The naive design is the same service, but writes the whole snapshot at every push, as it came, and has every
scheduler fetch the whole map, uncompressed, each time:

${fleetTable(naive)}

## What was measured

${table(
  ['unit', 'value'],
  [
    ['a push on the wire, gzip', bytes(units.pushBytes)],
    ['a body before and after deflating', `${bytes(units.rawBytes)}, ${bytes(units.storedBytes)}`],
    ['a head', bytes(units.headBytes)],
    ['a push with new content', unitsOf(units.changed)],
    ['a push without', unitsOf(units.refreshed)],
    ['a sync, for a cluster with new content', bytes(units.changedSyncBytes)],
    ['a sync, for one without', bytes(units.refreshedSyncBytes)],
    ['CPU of a push with new content', `${units.cpuMs.changed} ms`],
    ['CPU of a push without', `${units.cpuMs.refreshed} ms`],
    ['CPU of a sync, a cluster', `${units.cpuMs.syncPerCluster} ms`],
  ],
)}

CPU times are of the machine that measured them, not of Lambda's ARM processors; all else DynamoDB Local
counted. Not in it: the body that is written again twice a day though nothing changed, data that consumers of
events move, and AWS support. The sample is small; the larger a snapshot, the more the naive design pays for it,
while a push without new content stays at one unit written.

## Claims

A push pays nothing for claims. A claim that is accepted, confirmed and fulfilled takes ${CLAIM_UNITS.read} units read and ${CLAIM_UNITS.write} written
while at most four are live in its cluster; a ledger of 64 takes up to 48. With requests and events, one claim a second
all month is ${dollars(claimsBill(1))}. Capacity, fit and plan read one unit more for each shard and, of each cluster
with live claims, its head. The sweeper reads each shard every minute and, of each cluster with live claims, the head and
any new content: ${dollars(claimSweepBill(0, units.storedBytes))} with no claims, ${dollars(claimSweepBill(100, units.storedBytes))} with claims live in 100 clusters all the time.

## What to turn

- **The interval of pushes** is nearly proportional to everything: 30 s instead of ${HABITS.pushIntervalS} costs a third.
- **Transfer** (${PRICES.transferGb} a GB) is for readers outside of AWS; those in the same region pay less or nothing.
- **Traces**: Lambda records one request a second and ${HABITS.tracedShare * 100} % of the others, which cannot be changed.
`;
}

function fleetTable(bills: readonly Bill[]): string {
  return table(
    ['part', ...FLEETS.map((clusters) => withCommas(clusters))],
    [
      ...PARTS.map((part) => [part, ...bills.map((bill) => dollars(bill[part]))]),
      ['**total**', ...bills.map((bill) => `**${dollars(total(bill))}**`)],
    ],
  );
}

function dollars(value: number): string {
  return withCommas(value < 100 ? Number(value.toFixed(2)) : Math.round(value), value < 100 ? 2 : 0);
}

function bytes(value: number): string {
  return `${withCommas(value)} B`;
}

function unitsOf({ read, write }: { readonly read: number; readonly write: number }): string {
  return `${read} read, ${write} written`;
}

function withCommas(value: number, digits = 0): string {
  return value.toFixed(digits).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}
