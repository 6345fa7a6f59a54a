// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code.
/**
 * What the service's safety rests on, switched off one at a time. The simulation must find each
 * within its number of seeds; where it cannot, `belt` says which other rule holds all the same.
 */
export interface Mutation {
  readonly name: string;
  readonly file: string;
  /** Text that occurs exactly once in the file. */
  readonly from: string;
  readonly to: string;
  /** Why the simulation does not find it: a second belt, or a window that a test of its own is for. */
  readonly belt?: string;
}

const HEADS = 'functions/storage/heads.ts';
const COMMIT = 'functions/storage/commit.ts';
const CONTENTS = 'functions/storage/contents.ts';
const DECIDE = 'functions/storage/decide.ts';
const RETIRE = 'functions/storage/retire.ts';
const SYNC = 'functions/core/map/sync.ts';
const READER = 'functions/reading/map-reader.ts';
const ANNOUNCE = 'functions/lambdas/notify/announce.ts';
const SPAN = 'functions/lambdas/notify/span.ts';
const PUBLISHER = 'functions/lambdas/notify/publisher.ts';
const LEDGERS = 'functions/storage/ledgers.ts';
const EVALUATE = 'functions/core/claims/evaluate.ts';
const RESTORE = 'infra/restore/restore-heads.ts';
const KNOWN = 'infra/restore/known-clusters.ts';

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'a new head overwrites one that is there',
    file: HEADS,
    from: 'seen === undefined ? noHeadYet :',
    to: "seen === undefined ? 'attribute_not_exists(nothing)' :",
  },
  {
    name: 'a head is replaced whatever it is by now',
    file: HEADS,
    from: '`${headIsTheOneRead} AND (${counterAdvances} OR (${samePushAgain}))`',
    to: '`attribute_exists(clusterId)`',
  },
  {
    name: 'a head is replaced though its counter moved',
    file: HEADS,
    from: '`${a.highWater} = :seenHighWater`,\n      seen?.omission',
    to: '`attribute_exists(${a.highWater})`,\n      seen?.omission',
    belt: 'The content must be the one that was read, and the counter must advance: only a content that went and came back between the read and the write could show it.',
  },
  {
    name: 'a head is replaced though it left the map meanwhile',
    file: HEADS,
    from: '`attribute_not_exists(${a.omittedReason})`\n        : `attribute_exists(${a.omittedReason})`,',
    to: '`attribute_exists(clusterId)`\n        : `attribute_exists(clusterId)`,',
    belt: 'A push that meets an omission at its own counter is accepted after it all the same; only the time of its content is then older.',
  },
  {
    name: 'the counter need not advance',
    file: HEADS,
    from: '`${headIsTheOneRead} AND (${counterAdvances} OR (${samePushAgain}))`',
    to: '`${headIsTheOneRead}`',
    belt: 'The head is the very one on which the decision was made, and the decision refuses counters that do not advance.',
  },
  {
    name: 'a push of the same counter meets its own earlier copy as a conflict',
    file: HEADS,
    from: 'AND (${counterAdvances} OR (${samePushAgain}))`',
    to: 'AND ${counterAdvances}`',
    belt: 'The commit reads again and decides that the push is there already.',
  },
  {
    name: 'a cluster is omitted though a push came meanwhile',
    file: HEADS,
    from: '`${noPushSince} AND ${stillIncluded}`',
    to: 'stillIncluded',
  },
  {
    name: 'a tombstone is lowered',
    file: HEADS,
    from: '`${noTombstoneYet} OR ${tombstoneIsNotHigher}`',
    to: '`${noTombstoneYet} OR ${HEAD_ATTRIBUTES.highWater} >= :highWater OR ${tombstoneIsNotHigher}`',
    belt: 'A head is above the tombstone of its cluster, since the push that made it read the tombstone; none is ever lower.',
  },
  {
    name: 'a head is deleted though a push came meanwhile',
    file: HEADS,
    from: '`${noPushSince} AND ${sameOmission}`',
    to: "'attribute_exists(clusterId)'",
    belt: 'No second rule: a push would have to fall into the milliseconds between two writes of one retirement, which 150 seeds do not bring about. test/lambdas/expire/sweep.test.ts puts it there.',
  },
  {
    name: 'the head is deleted before its tombstone is written',
    file: RETIRE,
    from: '  await heads.putTombstone({ clusterId, highWater, collectedAtNanos, contentId: body.contentId });\n  await heads.remove({ ...head, omission });',
    to: '  await heads.remove({ ...head, omission });\n  await heads.putTombstone({ clusterId, highWater, collectedAtNanos, contentId: body.contentId });',
    belt: 'No second rule: the sweeper would have to die between the two writes. test/lambdas/expire/crash.test.ts has it die there.',
  },
  {
    name: 'a retired cluster leaves no tombstone',
    file: RETIRE,
    from: '  await heads.putTombstone({ clusterId, highWater, collectedAtNanos, contentId: body.contentId });\n',
    to: '',
  },
  {
    name: 'a push does not ask for the tombstone',
    file: COMMIT,
    from: "  if (mark !== undefined) return { kind: 'retired', mark };\n",
    to: '',
  },
  {
    name: 'the map is read eventually consistent',
    file: HEADS,
    from: '          ConsistentRead: true,\n          // "shard"',
    to: '          ConsistentRead: false,\n          // "shard"',
  },
  {
    name: 'a head is read eventually consistent',
    file: HEADS,
    from: '        Key: { shard: { S: partition }, clusterId: { S: clusterId } },\n        ConsistentRead: true,',
    to: '        Key: { shard: { S: partition }, clusterId: { S: clusterId } },\n        ConsistentRead: false,',
  },
  {
    name: 'a counter below the mark is accepted',
    file: DECIDE,
    from: 'if (highWater === undefined || push.counter >= highWater) return;',
    to: 'if (highWater === undefined || push.counter >= 0n) return;',
  },
  {
    name: 'a counter is used for two contents',
    file: DECIDE,
    from: 'if (!sameContent || push.collectedAtNanos !== last.collectedAtNanos) {',
    to: 'if (push.collectedAtNanos === -1n) {',
  },
  {
    name: 'other content passes for a refresh',
    file: DECIDE,
    from: 'const sameContent = last.contentId === push.contentId;',
    to: 'const sameContent = true;',
  },
  {
    name: 'a lost race is taken for a success',
    file: COMMIT,
    from: '      await backOff(CONFLICT_BACKOFF, attempt);\n      // Every engine',
    to: '      return { decision, head: next };\n      // Every engine',
  },
  {
    name: 'contents that are not seen yet are not asked for again',
    file: CONTENTS,
    from: 'if (missing.length === 0) return contents;\n    return new Map([...contents, ...(await this.#readParts(missing, true))]);',
    to: 'return missing.length === 0 ? contents : contents;',
  },
  {
    name: 'unprocessed keys are dropped',
    file: CONTENTS,
    from: 'pending = response.UnprocessedKeys?.[this.tables.contents]?.Keys ?? [];',
    to: 'pending = [];',
    belt: 'What is missing is asked for again, consistently, and the head is read again after that.',
  },
  {
    name: 'changed content is reported as refreshed',
    file: SYNC,
    from: 'held !== undefined && held >= head.contentSinceCounter && held < head.counter',
    to: 'held !== undefined && held < head.counter',
  },
  {
    name: 'sync forgets what left the map',
    file: SYNC,
    from: 'const omitted = [...callerClock.keys()].filter((id) => !present.has(id)).sort(compareUtf8);',
    to: 'const omitted = [...callerClock.keys()].filter((id) => id === "").sort(compareUtf8);',
  },
  {
    name: 'a response that was cut says that it completes the map',
    file: SYNC,
    from: 'complete: changed.length === differing.length,',
    to: 'complete: true,',
  },
  {
    name: 'a head whose content is gone is not read again',
    file: READER,
    from: 'if (now !== undefined && now.omission === undefined) moved.set(head.clusterId, now);',
    to: '',
    belt: 'Contents outlive their heads by a day, which no request takes.',
  },
  {
    name: 'records whose event failed are not given back to the stream',
    file: ANNOUNCE,
    from: 'batchItemFailures: sequenceNumbers(failed).map((itemIdentifier) => ({ itemIdentifier }))',
    to: 'batchItemFailures: sequenceNumbers(failed.slice(0, 0)).map((itemIdentifier) => ({ itemIdentifier }))',
  },
  {
    // Was so once: see docs/reliability.md.
    name: 'the event of a cluster that is retired has its first counter',
    file: SPAN,
    from: 'const latest = move.after ?? move.before ?? span?.latest;',
    to: 'const latest = move.after ?? before;',
  },
  {
    name: 'an event that failed is not sent again',
    file: PUBLISHER,
    from: "pending = pending.filter(({ index }) => deliveries.get(index)?.kind === 'failed');",
    to: 'pending = [];',
    belt: 'The record is given back to the stream, which sends it again.',
  },
  {
    name: 'a restoration does not read the stream of the lost table',
    file: RESTORE,
    from: 'for await (const image of readStream(streams, since.streamArn, options.pauseMs)) known.add(image);',
    to: 'for await (const _ of readStream(streams, since.streamArn, options.pauseMs)) continue;',
  },
  {
    name: 'a restoration does not raise marks to the floor',
    file: RESTORE,
    from: '    highWater: higher(cluster.highWater, floor),',
    to: '    highWater: cluster.highWater,',
  },
  {
    // Was so once: see docs/reliability.md.
    name: 'the status does not know the floor',
    file: DECIDE,
    from: 'return prior.floor > 0n ? prior.floor : undefined;',
    to: 'return undefined;',
  },
  {
    name: 'a restoration leaves no floor for clusters that it does not know',
    file: RESTORE,
    from: '      await put(dynamo, into, floorItem(floor));',
    to: '',
  },
  {
    name: 'restored clusters are in the map at once',
    file: RESTORE,
    from: '    omission: { reason: RESTORED, atMs: nowMs },',
    to: '',
  },
  {
    name: 'restored heads have the content that they had',
    file: RESTORE,
    from: '    contentSince: isRaised ? { counter: highWater, atMs: nowMs } : head.contentSince,',
    to: '    contentSince: head.contentSince,',
  },
  {
    name: 'of two marks that a restoration finds it takes the last',
    file: KNOWN,
    from: 'const highWater = higher(found.highWater, known?.highWater ?? 0n);',
    to: 'const highWater = found.highWater;',
  },
  {
    name: 'a restoration takes tombstones for nothing',
    file: KNOWN,
    from: '      else this.#addTombstone(tombstoneFromItem(item));',
    to: '',
  },
  {
    name: 'a ledger is replaced though another wrote it',
    file: LEDGERS,
    from: "ConditionExpression: '#version = :seen',",
    to: "ConditionExpression: 'attribute_exists(clusterId) OR #version = :seen',",
  },
  {
    name: 'a new ledger overwrites one that is there',
    file: LEDGERS,
    from: "{ ConditionExpression: 'attribute_not_exists(clusterId)' }",
    to: "{ ConditionExpression: 'attribute_not_exists(nothing)' }",
  },
  {
    name: 'claims keep nobody out',
    file: EVALUATE,
    from: '    if (claim.end !== undefined || !blocks(claim)) continue;',
    to: '    if (claim.hold.fence >= 0n || claim.end !== undefined || !blocks(claim)) continue;',
  },
  {
    name: 'a confirmed claim ends by its time alone',
    file: EVALUATE,
    from: 'if (head.omittedAtMs !== undefined || !isEvidence(head, hold.expiresAtMs, settings)) return undefined;',
    to: '',
  },
  {
    name: 'a look that began right behind the end of a claim is evidence',
    file: EVALUATE,
    from: 'head.observedMs >= expiresAtMs + OBSERVED_MARGIN_MS',
    to: 'head.observedMs >= expiresAtMs',
  },
  {
    name: 'what an agent calls the time is evidence at once',
    file: EVALUATE,
    from: '  return maxClockAheadMs + 2 * CLOCK_SKEW_MS + VISIBILITY_MS;',
    to: '  return maxClockAheadMs > 0 ? 0 : VISIBILITY_MS;',
  },
];
