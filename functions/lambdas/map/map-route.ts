/** GET /v1/map and GET /v1/map/clock: the whole of what is in the map. */
import { clockEtag } from '../../core/map/clock.ts';
import { narrow } from '../../core/map/filter.ts';
import { spliceClockJson, spliceMapJson } from '../../core/map/splice-json.ts';
import { spliceClockProtobuf, spliceMapProtobuf } from '../../core/map/splice-protobuf.ts';
import type { App } from '../../http/app-env.ts';
import { knownRepresentations } from '../../http/conditional.ts';
import { encodePieces, type SendOptions, sendEncoded } from '../../http/send-pieces.ts';
import type { ChangeSignal } from '../../http/wait.ts';
import type { WaitLimiter } from '../../http/wait-limiter.ts';
import type { FilterFactsReader } from '../../reading/filter-facts.ts';
import { entryOf, type MapReader, versionsOf } from '../../reading/map-reader.ts';
import { filterOf, notModified, waitOptionsOf, wantedForm } from './map-request.ts';
import type { ResponseCache } from './response-cache.ts';

export interface MapRouteDeps {
  readonly map: MapReader;
  readonly facts: FilterFactsReader;
  readonly responses: ResponseCache;
  readonly changes: ChangeSignal;
  readonly waits: WaitLimiter;
  readonly maxResponseBytes: number | undefined;
}

export interface WaitingRoute {
  readonly path: string;
  /** The longest wait there; at 0 the response always comes at once. */
  readonly longestWaitSeconds: number;
}

export function mapRoute(
  app: App,
  { path, longestWaitSeconds }: WaitingRoute,
  { map, facts, responses, changes, waits, maxResponseBytes }: MapRouteDeps,
): void {
  app.get(path, async (c) => {
    const filter = filterOf(c);
    const wanted = wantedForm(c);
    const isKnown = knownRepresentations(c);
    const { waitOptions, headers } = waitOptionsOf(c, changes, longestWaitSeconds);
    const look = async () => {
      const included = await map.includedHeads();
      const heads = narrow(included, filter, await facts.read(included, filter));
      return { heads, etag: clockEtag(versionsOf(heads), filter, wanted.format) };
    };
    const { heads, etag } = await waits.pollUntil(
      c.get('principal'),
      look,
      (seen) => !isKnown(seen.etag),
      waitOptions,
    );
    if (isKnown(etag)) return notModified(c, etag, headers);

    const sendAs = (sentEtag: string): SendOptions => ({
      zipped: wanted.zipped,
      headers: { ...headers, 'content-type': wanted.contentType, etag: sentEtag },
      maxBytes: maxResponseBytes,
      remedy: wanted.zipped
        ? 'fetch it in parts with POST /v1/map/sync, or narrow it with a filter'
        : 'send Accept-Encoding: gzip, fetch it in parts with POST /v1/map/sync, or narrow it with a filter',
    });
    const finished = responses.get(etag, wanted.zipped);
    if (finished !== undefined) return sendEncoded(c, finished, sendAs(etag));

    const { readable, contents } = await map.readContents(heads, wanted);
    // What could not be read is not in the map, and so not in its etag.
    const sentEtag = readable === heads ? etag : clockEtag(versionsOf(readable), filter, wanted.format);
    if (isKnown(sentEtag)) return notModified(c, sentEtag, headers);
    const entries = readable.map((head) => entryOf(head, contents));
    const splice = wanted.format === 'protobuf' ? spliceMapProtobuf : spliceMapJson;
    const response = encodePieces(splice(entries), wanted.zipped);
    if (response.kind === 'finished') responses.made(sentEtag, wanted.zipped, response);
    return sendEncoded(c, response, sendAs(sentEtag));
  });
}

export function clockRoute(
  app: App,
  { map, facts, maxResponseBytes }: Pick<MapRouteDeps, 'map' | 'facts' | 'maxResponseBytes'>,
): void {
  app.get('/v1/map/clock', async (c) => {
    const filter = filterOf(c);
    const wanted = wantedForm(c);
    const isKnown = knownRepresentations(c);
    const included = await map.includedHeads();
    const versions = versionsOf(narrow(included, filter, await facts.read(included, filter)));
    const etag = clockEtag(versions, filter, wanted.format);
    if (isKnown(etag)) return notModified(c, etag);
    const splice = wanted.format === 'protobuf' ? spliceClockProtobuf : spliceClockJson;
    return sendEncoded(c, encodePieces(splice(versions), wanted.zipped), {
      zipped: wanted.zipped,
      headers: { 'content-type': wanted.contentType, etag },
      maxBytes: maxResponseBytes,
      remedy: 'narrow it with a filter',
    });
  });
}
