/** Answers with a message in the format that the client asked for. */
import { type DescMessage, type JsonValue, type MessageShape, toBinary, toJson } from '@bufbuild/protobuf';
import type { Context } from 'hono';
import { responseFormat } from './media-type.ts';

export function respond<Desc extends DescMessage>(
  c: Context,
  schema: Desc,
  message: MessageShape<Desc>,
  status: 200 | 201 = 200,
): Response {
  const { format, contentType } = responseFormat(c);
  const headers = { 'content-type': contentType, 'cache-control': 'private, no-cache', vary: 'accept' };
  if (format === 'protobuf')
    return c.body(toBinary(schema, message) as Uint8Array<ArrayBuffer>, status, headers);
  // Absent and zero look alike in ProtoJSON unless every field is written.
  const json: JsonValue = toJson(schema, message, { alwaysEmitImplicit: true });
  return c.body(JSON.stringify(json), status, headers);
}
