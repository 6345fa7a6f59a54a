/**
 * What a push goes through without a store: decode, rules, canonical form, the stored form of
 * the body, and the map that is spliced around it. Each step is held against another way to
 * come by the same result.
 */
import assert from 'node:assert/strict';
import { constants, crc32, deflateRawSync, gunzipSync } from 'node:zlib';
import { clone, create, fromBinary, fromJsonString, toBinary, toJsonString } from '@bufbuild/protobuf';
import { InvalidSnapshotError, ResourceMapError } from '../../../functions/core/errors.ts';
import { inIdOrder, type MapEntry } from '../../../functions/core/map/entry.ts';
import { Fragment } from '../../../functions/core/map/fragment.ts';
import { jsonMembers } from '../../../functions/core/map/json-members.ts';
import { inChunks, type Payload, type Piece, plain } from '../../../functions/core/map/pieces.ts';
import { gzip } from '../../../functions/core/map/splice-gzip.ts';
import { spliceMapJson } from '../../../functions/core/map/splice-json.ts';
import { spliceMapProtobuf } from '../../../functions/core/map/splice-protobuf.ts';
import { acceleratorTotals } from '../../../functions/core/snapshot/accelerators.ts';
import { encodeContent } from '../../../functions/core/snapshot/canonical.ts';
import { contentIdOf } from '../../../functions/core/snapshot/content.ts';
import { decodeMessage, decodeSnapshot } from '../../../functions/core/snapshot/decode.ts';
import { identityOf } from '../../../functions/core/snapshot/identity.ts';
import {
  capacityFacts,
  capacityFactsOfContent,
  checkNodeTypeSuccession,
  checkSnapshot,
} from '../../../functions/core/snapshot/rules/index.ts';
import { nanosOf, timestampOf } from '../../../functions/core/timestamp.ts';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
  type GlobalResourceMap,
  GlobalResourceMapSchema,
} from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { FindingSchema, ValidateResultSchema } from '../../../functions/gen/resourcemap/v1/service_pb.ts';
import { problemOf } from '../../../functions/http/problem.ts';
import type { Case, Target } from '../case.ts';

/** After every real snapshot was taken, so that a mutated one has a future, too. */
const NOW_MS = Date.UTC(2026, 11, 1);

/** A cluster of the map, in both of the forms in which it is kept. */
interface Kept {
  readonly clusterId: string;
  readonly snapshot: ClusterResourceMap;
  readonly protobuf: MapEntry;
  readonly json: MapEntry;
}

/** Steps of the service that a test of the target puts a broken one in the place of. */
export interface Steps {
  readonly encodeContent: typeof encodeContent;
  readonly spliceMapProtobuf: typeof spliceMapProtobuf;
  readonly spliceMapJson: typeof spliceMapJson;
  readonly gzip: typeof gzip;
}

const STEPS: Steps = { encodeContent, spliceMapProtobuf, spliceMapJson, gzip };

/** @param neighbours two real snapshots, which share the map with each case that is accepted */
export function pipelineTarget(neighbours: readonly Case[], steps: Steps = STEPS): Target {
  const others = neighbours.map((each) => {
    const snapshot = accepted(each, steps);
    assert.ok(snapshot !== undefined, 'A neighbour is not accepted.');
    return keep(snapshot, steps);
  });
  return (input) => {
    const snapshot = accepted(input, steps);
    if (snapshot === undefined) return;
    const kept = keep(snapshot, steps);
    const map = [kept, ...others.filter(({ clusterId }) => clusterId !== kept.clusterId)];
    checkProtobufMap(map, steps);
    checkJsonMap(map, steps);
  };
}

/** Faster than a deep comparison, which shows a difference that nobody could read. */
function same(found: Uint8Array, wanted: Uint8Array, message: string): void {
  assert.ok(Buffer.compare(found, wanted) === 0, message);
}

/** The snapshot; undefined where it is refused, and refused as it must be. */
function accepted({ format, bytes }: Case, { encodeContent }: Steps): ClusterResourceMap | undefined {
  let snapshot: ClusterResourceMap;
  try {
    snapshot = decodeSnapshot(bytes, format);
  } catch (error) {
    checkRefusal(error);
    return undefined;
  }
  const before = toBinary(ClusterResourceMapSchema, snapshot);
  const { findings, rejects, warnings, omitted } = checkSnapshot(snapshot, { nowMs: NOW_MS });
  same(toBinary(ClusterResourceMapSchema, snapshot), before, 'The rules changed the snapshot.');
  assert.equal(rejects + warnings, findings.length + omitted, 'Findings are lost.');
  const result = create(ValidateResultSchema, {
    valid: rejects === 0,
    findings: findings.map((finding) => create(FindingSchema, finding)),
    omittedFindings: omitted,
  });
  assert.equal(
    fromBinary(ValidateResultSchema, toBinary(ValidateResultSchema, result)).findings.length,
    findings.length,
  );
  toJsonString(ValidateResultSchema, result);
  if (rejects > 0) {
    checkRefusal(new InvalidSnapshotError(findings, rejects, omitted));
    return undefined;
  }
  checkOtherFormat(snapshot, format, encodeContent);
  return snapshot;
}

/** A refusal is one of ours, is the sender's fault, and can be written down. */
function checkRefusal(error: unknown): void {
  if (!(error instanceof ResourceMapError)) throw error;
  const { status, body } = problemOf(error, '/', 'fuzz');
  assert.ok(status >= 400 && status < 500, `The refusal is a ${status}: ${error.message}`);
  assert.equal(JSON.parse(body).code, error.code);
}

/** The same snapshot is the same body, in whichever format it comes. */
function checkOtherFormat(
  snapshot: ClusterResourceMap,
  format: Case['format'],
  encodeContent: Steps['encodeContent'],
): void {
  const bytes = toBinary(ClusterResourceMapSchema, snapshot);
  const known = toBinary(ClusterResourceMapSchema, snapshot, { writeUnknownFields: false });
  // JSON has no place for fields that we do not know.
  if (bytes.length !== known.length) return;
  const other =
    format === 'json'
      ? decodeSnapshot(bytes, 'protobuf')
      : decodeSnapshot(Buffer.from(toJsonString(ClusterResourceMapSchema, snapshot)), 'json');
  same(
    encodeContent(other),
    encodeContent(clone(ClusterResourceMapSchema, snapshot)),
    'The other format has another body.',
  );
}

/** As the store keeps it, and as it comes out of there. */
function keep(snapshot: ClusterResourceMap, { encodeContent }: Steps): Kept {
  assert.ok(snapshot.collectedAt !== undefined, 'The rules let a snapshot without collected_at pass.');
  const clusterId = snapshot.cluster?.clusterId;
  assert.ok(clusterId !== undefined, 'The rules let a snapshot without an id pass.');
  identityOf(snapshot);
  acceleratorTotals(snapshot);
  const facts = capacityFacts(snapshot);
  const version = {
    clusterId,
    counter: snapshot.logicalCounter,
    collectedAtNanos: nanosOf(snapshot.collectedAt),
  };

  const body = encodeContent(snapshot);
  const again = decodeSnapshot(body, 'protobuf');
  const shuffled = clone(ClusterResourceMapSchema, again);
  shuffled.capacityPools.reverse();
  shuffled.jobs.reverse();
  same(encodeContent(again), body, 'The canonical form of a canonical form differs.');
  same(encodeContent(shuffled), body, 'The canonical form depends on the order.');
  assert.match(contentIdOf(clusterId, body), /^[0-9a-f]{64}$/);
  const known = checkNodeTypeSuccession(capacityFactsOfContent(body), facts, { nowMs: NOW_MS });
  assert.equal(known.rejects + known.warnings, 0, 'The snapshot differs from its own body.');

  const json = jsonMembers(fromBinary(ClusterResourceMapSchema, body));
  const expected = fromBinary(ClusterResourceMapSchema, body);
  // The head keeps the instant; what else a sender put into its Timestamp is not kept.
  expected.collectedAt = timestampOf(version.collectedAtNanos);
  expected.logicalCounter = snapshot.logicalCounter;
  return {
    clusterId,
    snapshot: expected,
    protobuf: { ...version, body: stored(body) },
    json: { ...version, body: stored(json) },
  };
}

function stored(raw: Uint8Array): Fragment {
  const deflated = deflateRawSync(raw, { finishFlush: constants.Z_SYNC_FLUSH });
  return Fragment.verify(deflated, raw.length, crc32(raw));
}

function checkProtobufMap(map: readonly Kept[], { spliceMapProtobuf, gzip }: Steps): void {
  const bytes = checkGzip(spliceMapProtobuf(map.map(({ protobuf }) => protobuf)), gzip);
  const served = decodeMessage(GlobalResourceMapSchema, bytes, 'protobuf');
  checkClock(served, map);
  for (const [i, { clusterId, snapshot }] of inIdOrder(map).entries()) {
    const each = served.clusterResourceMaps[i];
    assert.ok(each !== undefined);
    same(
      toBinary(ClusterResourceMapSchema, each),
      toBinary(ClusterResourceMapSchema, snapshot),
      `The map in Protobuf has another ${clusterId}.`,
    );
  }
}

function checkJsonMap(map: readonly Kept[], { spliceMapJson, gzip }: Steps): void {
  const text = checkGzip(spliceMapJson(map.map(({ json }) => json)), gzip).toString('utf8');
  const served = fromJsonString(GlobalResourceMapSchema, text);
  checkClock(served, map);
  for (const [i, { clusterId, snapshot }] of inIdOrder(map).entries()) {
    const each = served.clusterResourceMaps[i];
    assert.ok(each !== undefined);
    assert.equal(
      toJsonString(ClusterResourceMapSchema, each),
      toJsonString(ClusterResourceMapSchema, snapshot),
      `The map in JSON has another ${clusterId}.`,
    );
  }
}

/** Small, so that pieces fall into several and several into one. */
const CHUNK_BYTES = 1_000;

/** The response as it is sent, which is as long as it says before the first byte. */
export function sent(payload: Payload): Buffer {
  const bytes = Buffer.concat([...inChunks(payload, CHUNK_BYTES)]);
  assert.equal(bytes.length, payload.length, 'The response is not as long as it says.');
  return bytes;
}

/** @returns the bytes, which are the same with gzip and without */
function checkGzip(pieces: readonly Piece[], zip: Steps['gzip']): Buffer {
  const bytes = sent(plain(pieces));
  assert.deepEqual(gunzipSync(sent(zip(pieces))), Buffer.from(bytes), 'The map inflates to something else.');
  return bytes;
}

function checkClock(served: GlobalResourceMap, map: readonly Kept[]): void {
  assert.equal(served.clusterResourceMaps.length, map.length);
  const clock = new Map(Object.entries(served.vectorClock));
  assert.equal(clock.size, map.length);
  for (const { clusterId, snapshot } of map) assert.equal(clock.get(clusterId), snapshot.logicalCounter);
}
