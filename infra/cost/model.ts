/**
 * What a month costs: units that were measured, times how often, times the price. Pure; every
 * assumption is a number here, with its reason.
 */

/** What was measured, by `npm run cost`. */
export interface Units {
  /** Bytes of a push of the sample on the wire, compressed. */
  readonly pushBytes: number;
  /** Bytes of its body before and after deflating, and of its head. */
  readonly rawBytes: number;
  readonly storedBytes: number;
  readonly headBytes: number;
  /** DynamoDB's read and write units of a push with new content, and of one without. */
  readonly changed: { readonly read: number; readonly write: number };
  readonly refreshed: { readonly read: number; readonly write: number };
  /** Bytes that a sync gives for a cluster with new content, and for one without. */
  readonly changedSyncBytes: number;
  readonly refreshedSyncBytes: number;
  /** CPU milliseconds of a push with new content, of one without, and of a sync, for each cluster in it. */
  readonly cpuMs: { readonly changed: number; readonly refreshed: number; readonly syncPerCluster: number };
}

/**
 * US dollars, list prices of us-east-1 without a free tier or savings plan, as published at the end
 * of 2025. Check them against the services' pricing pages.
 */
export const PRICES = {
  writeUnit: 0.625e-6,
  readUnit: 0.125e-6,
  tableGbMonth: 0.25,
  recoveryGbMonth: 0.2,
  httpRequest: 1.0e-6,
  /** HTTP requests are counted in pieces of 512 KB. */
  httpPieceBytes: 512 * 1_024,
  invocation: 0.2e-6,
  armGbSecond: 1.33334e-5,
  logGb: 0.5,
  accessLogGb: 0.25,
  trace: 5e-6,
  event: 1e-6,
  alarm: 0.1,
  dashboard: 3,
  metric: 0.3,
  transferGb: 0.09,
} as const;

/** How a fleet behaves. */
export const HABITS = {
  pushIntervalS: 10,
  /** Of the pushes, those that changed something: one in ten. */
  changedShare: 0.1,
  schedulers: 5,
  syncIntervalS: 10,
  /** Milliseconds that a push and a sync wait for DynamoDB, during which Lambda counts too. */
  pushWaitMs: 10,
  syncWaitMs: 15,
  /** A grant is kept for 30 s in each instance; taken as read again at each request, which is the most. */
  grantReadUnits: 1,
  lambdaGb: 1_769 / 1_024,
  /** X-Ray records one request a second and one in twenty of the others; that cannot be changed in Lambda. */
  tracedShare: 0.05,
  /** Bytes of a line in the log: a metric of a push, and an access log entry. */
  metricLineBytes: 350,
  accessLineBytes: 250,
  /** Bodies live for a day, or half of one longer; several are there at once. */
  contentLifeS: 24 * 3_600,
  shards: 8,
  /** Ours, of the functions, on the dashboard. */
  metrics: 32,
  alarms: 10,
} as const;

/**
 * DynamoDB's units of a claim that is accepted, confirmed and ends by itself, with up to four live in its cluster, as
 * the tests of claims count them: three writes of the ledger, each after reads of ledger and head.
 */
export const CLAIM_UNITS = { read: 6, write: 3 } as const;

/** Dollars a month of so many claims a second: their requests, units and events. */
export function claimsBill(claimsPerSecond: number): number {
  const claims = claimsPerSecond * SECONDS_OF_MONTH;
  const units = CLAIM_UNITS.read * PRICES.readUnit + CLAIM_UNITS.write * PRICES.writeUnit;
  return (
    claims * (units + 2 * (PRICES.httpRequest + HABITS.grantReadUnits * PRICES.readUnit) + 3 * PRICES.event)
  );
}

/** Dollars a month of the claims' sweeper, with claims live in so many clusters all the time. */
export function claimSweepBill(clusters: number, storedBytes: number): number {
  const sweeps = SECONDS_OF_MONTH / 60;
  // Each shard is a query; of each ledger with claims the head is read, and its content if a push changed it meanwhile.
  const contentUnits = Math.ceil(storedBytes / READ_UNIT_BYTES) / 2;
  const reads = HABITS.shards + clusters * (1 + contentUnits);
  return lambda(sweeps, HABITS.syncWaitMs) + sweeps * reads * PRICES.readUnit;
}

const SECONDS_OF_MONTH = 30 * 24 * 3_600;
const READ_UNIT_BYTES = 4_096;
const WRITE_UNIT_BYTES = 1_024;

/** Dollars a month, by part. */
export type Bill = Readonly<Record<Part, number>>;

export const PARTS = [
  'API Gateway',
  'Lambda',
  'DynamoDB writes',
  'DynamoDB reads',
  'DynamoDB storage',
  'Events',
  'Logs',
  'Traces',
  'Alarms and dashboard',
  'Transfer to the internet',
] as const;
export type Part = (typeof PARTS)[number];

export function monthlyBill(clusters: number, units: Units): Bill {
  const pushes = (clusters * SECONDS_OF_MONTH) / HABITS.pushIntervalS;
  const changed = pushes * HABITS.changedShare;
  const refreshed = pushes - changed;
  const syncs = (HABITS.schedulers * SECONDS_OF_MONTH) / HABITS.syncIntervalS;
  const sweeps = SECONDS_OF_MONTH / 60;
  // Between two syncs every cluster pushed once.
  const syncBytes =
    clusters *
    (HABITS.changedShare * units.changedSyncBytes + (1 - HABITS.changedShare) * units.refreshedSyncBytes);
  const syncCpuMs = clusters * units.cpuMs.syncPerCluster;
  const pollUnits = headPollUnits(clusters, units.headBytes);
  const contentReadUnits =
    clusters * HABITS.changedShare * (Math.ceil(units.storedBytes / READ_UNIT_BYTES) / 2);
  const requests = pushes + syncs;
  const contentsBytes =
    clusters * ((HABITS.contentLifeS / HABITS.pushIntervalS) * HABITS.changedShare) * units.storedBytes;
  const tableGb = gb(contentsBytes + clusters * units.headBytes);
  return {
    'API Gateway':
      PRICES.httpRequest * (pushes + syncs * Math.max(1, Math.ceil(syncBytes / PRICES.httpPieceBytes))),
    Lambda:
      lambda(changed, units.cpuMs.changed + HABITS.pushWaitMs) +
      lambda(refreshed, units.cpuMs.refreshed + HABITS.pushWaitMs) +
      lambda(syncs, syncCpuMs + HABITS.syncWaitMs) +
      // Changes of a second go in one invocation.
      lambda(Math.min(changed, SECONDS_OF_MONTH), HABITS.pushWaitMs) +
      lambda(sweeps, syncCpuMs + HABITS.syncWaitMs),
    'DynamoDB writes': PRICES.writeUnit * (changed * units.changed.write + refreshed * units.refreshed.write),
    'DynamoDB reads':
      PRICES.readUnit *
      (changed * units.changed.read +
        refreshed * units.refreshed.read +
        requests * HABITS.grantReadUnits +
        syncs * (pollUnits + contentReadUnits) +
        sweeps * pollUnits),
    'DynamoDB storage': tableGb * (PRICES.tableGbMonth + PRICES.recoveryGbMonth),
    Events: PRICES.event * changed,
    Logs:
      gb(requests * HABITS.metricLineBytes) * PRICES.logGb +
      gb(requests * HABITS.accessLineBytes) * PRICES.accessLogGb,
    Traces: PRICES.trace * requests * HABITS.tracedShare,
    'Alarms and dashboard': HABITS.alarms * PRICES.alarm + PRICES.dashboard + HABITS.metrics * PRICES.metric,
    'Transfer to the internet': gb(syncs * syncBytes) * PRICES.transferGb,
  };
}

/**
 * The design that everybody starts with, on the same services: the whole snapshot is written at
 * each push, as it came, and each scheduler fetches the whole map, uncompressed, each time.
 */
export function naiveBill(clusters: number, units: Units): Bill {
  const ours = monthlyBill(clusters, units);
  const pushes = (clusters * SECONDS_OF_MONTH) / HABITS.pushIntervalS;
  const fetches = (HABITS.schedulers * SECONDS_OF_MONTH) / HABITS.syncIntervalS;
  const mapBytes = clusters * units.rawBytes;
  return {
    ...ours,
    'API Gateway': PRICES.httpRequest * (pushes + fetches * Math.ceil(mapBytes / PRICES.httpPieceBytes)),
    'DynamoDB writes': PRICES.writeUnit * pushes * Math.ceil(units.rawBytes / WRITE_UNIT_BYTES),
    'DynamoDB reads':
      PRICES.readUnit *
      (fetches * clusters * Math.ceil(units.rawBytes / READ_UNIT_BYTES) +
        (pushes + fetches) * HABITS.grantReadUnits),
    'DynamoDB storage': gb(mapBytes) * (PRICES.tableGbMonth + PRICES.recoveryGbMonth),
    'Transfer to the internet': gb(fetches * mapBytes) * PRICES.transferGb,
  };
}

export function total(bill: Bill): number {
  return PARTS.reduce((sum, part) => sum + bill[part], 0);
}

/** Every shard is one query, and rounds up alone. */
function headPollUnits(clusters: number, headBytes: number): number {
  return HABITS.shards * Math.ceil(((clusters / HABITS.shards) * headBytes) / READ_UNIT_BYTES);
}

function lambda(invocations: number, ms: number): number {
  return invocations * (PRICES.invocation + (ms / 1_000) * HABITS.lambdaGb * PRICES.armGbSecond);
}

function gb(bytes: number): number {
  return bytes / 1e9;
}
