/** What a cluster's snapshot is warned of, for a request for that one cluster. */
import { fromBinary } from '@bufbuild/protobuf';
import type { Finding } from '../../core/findings.ts';
import { checkSnapshot, standingLoss } from '../../core/snapshot/rules/index.ts';
import { timestampOf } from '../../core/timestamp.ts';
import { ClusterResourceMapSchema } from '../../gen/resourcemap/v1/resource_map_pb.ts';
import type { MapReader } from '../../reading/map-reader.ts';
import type { Head } from '../../storage/head.ts';

/** As many as a person reads; the response to the push had all of them. */
const SHOWN_WARNINGS = 20;

/**
 * The first warnings of the snapshot that is in the map, with paths into it as it is served.
 * They are found again rather than stored, since the rules are a pure function of the body and
 * a head must stay small. Of what was warned of in comparison with the snapshot before, the head
 * keeps what the content lost; the rest is counted and was in the response to the push alone.
 *
 * Costs no read where the head counts none. Nothing where the body is not there to be read.
 */
export async function standingWarnings(map: MapReader, head: Head): Promise<readonly Finding[]> {
  if (head.warnings === 0) return [];
  const { contents } = await map.readContents([head], { format: 'protobuf', zipped: true });
  const lost = head.loss === undefined ? [] : standingLoss(head.loss);
  const body = contents.get(head.body.contentId);
  if (body === undefined) return lost;
  const snapshot = fromBinary(ClusterResourceMapSchema, body.raw());
  snapshot.collectedAt = timestampOf(head.collectedAtNanos);
  snapshot.logicalCounter = head.highWater;
  const own = checkSnapshot(snapshot, {
    nowMs: head.receivedAtMs,
    maxFindings: SHOWN_WARNINGS,
  }).findings;
  return [...lost, ...own].slice(0, SHOWN_WARNINGS);
}
