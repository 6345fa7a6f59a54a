/** Reads a request's body as a message, in the format that its Content-Type names. */
import { create, type DescMessage, type MessageShape } from '@bufbuild/protobuf';
import type { Context } from 'hono';
import { decodeMessage, type WireFormat } from '../core/snapshot/decode.ts';
import type { AppEnv } from './app-env.ts';
import { BYTES_PER_ELEMENT } from './limits.ts';
import { requestFormat } from './media-type.ts';
import { BODY_LIMITS, type BodyLimits, readBody } from './read-body.ts';

export interface ReadMessageOptions {
  readonly limits?: BodyLimits;
  /**
   * A Protobuf message without fields is no bytes at all. Where what reads the message says better what is
   * missing, that goes; elsewhere no bytes are worth a complaint, since they cannot be meant.
   */
  readonly mayBeEmpty?: boolean;
}

/** A body that is a message, before it is decoded. */
export interface EncodedMessage<Desc extends DescMessage> {
  readonly bytes: Uint8Array;
  readonly format: WireFormat;
  /**
   * The message. What it takes in memory counts against the process until the response is sent.
   *
   * @throws ResourceMapError `too_many_elements`, `nested_too_deeply`, `overloaded`; MalformedBodyError
   */
  readonly decode: () => MessageShape<Desc>;
}

/**
 * The body of a request, for a route that may do without decoding it.
 *
 * @throws ResourceMapError `unsupported_media_type`, `unsupported_encoding`, `body_too_large`,
 *   `overloaded`; MalformedBodyError
 */
export async function readEncoded<Desc extends DescMessage>(
  c: Context<AppEnv>,
  schema: Desc,
  { limits = BODY_LIMITS, mayBeEmpty = false }: ReadMessageOptions = {},
): Promise<EncodedMessage<Desc>> {
  const format = requestFormat(c);
  const bytes = await readBody(c, limits);
  const decode = (): MessageShape<Desc> => {
    if (mayBeEmpty && format === 'protobuf' && bytes.length === 0) return create(schema);
    return decodeMessage(schema, bytes, format, (elements) =>
      c.get('memory').take(elements * BYTES_PER_ELEMENT),
    );
  };
  return { bytes, format, decode };
}

/**
 * The message. What it takes in memory counts against the process until the request is
 * answered.
 *
 * @throws ResourceMapError `unsupported_media_type`, `unsupported_encoding`, `body_too_large`,
 *   `too_many_elements`, `nested_too_deeply`, `overloaded`; MalformedBodyError
 */
export async function readMessage<Desc extends DescMessage>(
  c: Context<AppEnv>,
  schema: Desc,
  options: ReadMessageOptions = {},
): Promise<MessageShape<Desc>> {
  return (await readEncoded(c, schema, options)).decode();
}
