/** POST /v1/map/sync: what changed since the caller's clock. */

import { WHOLE_MAP } from '../../core/map/filter.ts';
import { spliceSyncJson } from '../../core/map/splice-json.ts';
import { spliceSyncProtobuf } from '../../core/map/splice-protobuf.ts';
import { SyncRequestSchema } from '../../gen/resourcemap/v1/service_pb.ts';
import type { App } from '../../http/app.ts';
import { MAX_SYNC_BYTES } from '../../http/limits.ts';
import { refuseUnknownParameters } from '../../http/query.ts';
import type { BodyLimits } from '../../http/read-body.ts';
import { readMessage } from '../../http/read-message.ts';
import { encodePieces, sendEncoded } from '../../http/send-pieces.ts';
import type { ChangeSignal } from '../../http/wait.ts';
import type { WaitPlaces } from '../../http/wait-limiter.ts';
import type { MapReader } from '../../reading/map-reader.ts';
import { patienceOf, wantedForm } from './map-request.ts';
import { answerSync, type SyncQuery, tellsNothing } from './sync-response.ts';

/** What an answer holds unless the caller says otherwise: what a Lambda can carry. */
const DEFAULT_SYNC_BYTES = 4_000_000;

const SYNC_LIMITS: BodyLimits = { sentBytes: MAX_SYNC_BYTES, inflatedBytes: MAX_SYNC_BYTES };

export interface SyncDeps {
  readonly map: MapReader;
  readonly changes: ChangeSignal;
  readonly waits: WaitPlaces;
  readonly maxAnswerBytes: number | undefined;
}

export function syncRoute(app: App, { map, changes, waits, maxAnswerBytes }: SyncDeps): void {
  app.post('/v1/map/sync', async (c) => {
    refuseUnknownParameters(c, []);
    const wanted = wantedForm(c);
    const { patience, headers } = patienceOf(c, changes);
    const question = await readMessage(c, SyncRequestSchema, { limits: SYNC_LIMITS, mayBeEmpty: true });
    const query: SyncQuery = {
      callerClock: new Map(Object.entries(question.vectorClock)),
      filter: question.filter ?? WHOLE_MAP,
      maxBytes: Math.min(
        Number(question.maxBytes) || DEFAULT_SYNC_BYTES,
        maxAnswerBytes ?? Number.MAX_SAFE_INTEGER,
      ),
    };
    const answer = await waits.lookUntil(
      c.get('principal'),
      () => answerSync(map, query, wanted),
      (seen) => !tellsNothing(seen),
      patience,
    );
    const splice = wanted.format === 'protobuf' ? spliceSyncProtobuf : spliceSyncJson;
    return sendEncoded(c, encodePieces(splice(answer), wanted.zipped), {
      zipped: wanted.zipped,
      headers: { ...headers, 'content-type': wanted.contentType },
      maxBytes: maxAnswerBytes,
      remedy: wanted.zipped
        ? 'leave its largest cluster out with a filter'
        : 'send Accept-Encoding: gzip, or leave its largest cluster out with a filter',
    });
  });
}
