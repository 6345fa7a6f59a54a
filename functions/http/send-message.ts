/** Sends a message that may be large: compressed for who takes it, and within what the front carries. */
import { type DescMessage, type MessageShape, toBinary, toJson } from '@bufbuild/protobuf';
import type { Context } from 'hono';
import { Fragment } from '../core/map/fragment.ts';
import { acceptsGzip, responseFormat } from './media-type.ts';
import { encodePieces, sendEncoded } from './send-pieces.ts';

export interface SendMessageOptions {
  /** The largest body of a response that the front can carry; absent where it has no bound. */
  readonly maxBytes: number | undefined;
  /** What to do about a response that is too large, as the end of a sentence. */
  readonly remedy: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** @throws ResourceMapError `map_too_large`, `not_acceptable` */
export function sendMessage<Desc extends DescMessage>(
  c: Context,
  schema: Desc,
  message: MessageShape<Desc>,
  { maxBytes, remedy, headers = {} }: SendMessageOptions,
): Response {
  const { format, contentType } = responseFormat(c);
  const zipped = acceptsGzip(c);
  const bytes =
    format === 'protobuf'
      ? toBinary(schema, message)
      : // Absent is unknown here and 0 is 0, so every field that is known is written.
        Buffer.from(JSON.stringify(toJson(schema, message, { alwaysEmitImplicit: true })));
  return sendEncoded(c, encodePieces([zipped ? Fragment.compress(bytes) : bytes], zipped), {
    zipped,
    headers: { ...headers, 'content-type': contentType },
    maxBytes,
    remedy: zipped ? remedy : `send Accept-Encoding: gzip, or ${remedy}`,
  });
}
