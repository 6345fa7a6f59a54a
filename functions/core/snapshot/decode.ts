/**
 * From the bytes of a push to a snapshot, or to an error that says what is wrong
 * with the bytes. No rule is applied here.
 */
import {
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonValue,
  type MessageShape,
} from '@bufbuild/protobuf';
import {
  type ClusterResourceMap,
  ClusterResourceMapSchema,
} from '../../gen/resourcemap/v1/resource_map_pb.ts';
import { MalformedBodyError } from '../errors.ts';
import { FindingCollector } from '../findings.ts';
import { checkJsonShape } from './json-shape.ts';
import { scanJson } from './scan-json.ts';
import { scanProtobuf } from './scan-protobuf.ts';

/** The two forms of every message on the wire. */
export type WireFormat = 'protobuf' | 'json';

/**
 * Decodes a snapshot. Unknown Protobuf fields are kept, since a newer agent may send
 * them; unknown JSON fields are refused, since they could not be kept.
 *
 * @throws MalformedBodyError; ResourceMapError `too_many_elements`, `nested_too_deeply`
 */
export function decodeSnapshot(bytes: Uint8Array, format: WireFormat): ClusterResourceMap {
  return decodeMessage(ClusterResourceMapSchema, bytes, format);
}

/**
 * Decodes any message of the API, as {@link decodeSnapshot} does.
 *
 * @param admit told the number of elements (JSON: of values) before any of them is built;
 *   what it throws refuses the body
 * @throws MalformedBodyError; ResourceMapError `too_many_elements`, `nested_too_deeply`
 */
export function decodeMessage<Desc extends DescMessage>(
  schema: Desc,
  bytes: Uint8Array,
  format: WireFormat,
  admit: (elements: number) => void = () => undefined,
): MessageShape<Desc> {
  if (bytes.length === 0) {
    throw new MalformedBodyError(
      'empty_body',
      `The body is empty; send one ${schema.name} as application/x-protobuf or application/json.`,
    );
  }
  if (isGzip(bytes)) {
    throw new MalformedBodyError(
      format === 'protobuf' ? 'malformed_protobuf' : 'malformed_json',
      `The body is gzip and no ${schema.typeName}; compress it once, and say Content-Encoding: gzip.`,
    );
  }
  admit(format === 'protobuf' ? scanProtobuf(schema, bytes) : scanJson(bytes));
  return format === 'protobuf' ? decodeProtobuf(schema, bytes) : decodeJson(schema, bytes);
}

/**
 * Whether it begins as gzip does (RFC 1952). These two bytes begin no Protobuf message, for which they are
 * a wire type that there is not, and no JSON.
 */
export function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

function decodeProtobuf<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> {
  try {
    return fromBinary(schema, bytes);
  } catch (cause) {
    throw new MalformedBodyError(
      'malformed_protobuf',
      `The ${bytes.length}-byte body is not a valid ${schema.typeName}: ${reasonOf(cause)}. ` +
        'Send the encoded message itself, without a length prefix or framing.',
      {},
      { cause },
    );
  }
}

function decodeJson<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> {
  const json = parseJson(bytes);
  const problems = new FindingCollector();
  checkJsonShape(schema, json, problems);
  const { findings, rejects, omitted } = problems.result();
  const [first] = findings;
  if (first !== undefined) {
    const more = rejects > 1 ? ` And ${rejects - 1} more, see findings.` : '';
    const at = first.path === '' ? '' : `${first.path}: `;
    throw new MalformedBodyError(
      'malformed_json',
      `The body is no ${schema.typeName} in ProtoJSON: ${at}${first.message}${more}`,
      { findings, ...(omitted > 0 ? { omittedFindings: omitted } : {}) },
    );
  }
  try {
    return fromJson(schema, json);
  } catch (cause) {
    throw new MalformedBodyError(
      'malformed_json',
      `The body is no ${schema.typeName} in ProtoJSON: ${reasonOf(cause)}.`,
      {},
      { cause },
    );
  }
}

function parseJson(bytes: Uint8Array): JsonValue {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new MalformedBodyError(
      'malformed_json',
      'The body is not valid UTF-8; JSON must be.',
      {},
      { cause },
    );
  }
  try {
    return JSON.parse(text) as JsonValue;
  } catch (cause) {
    throw new MalformedBodyError(
      'malformed_json',
      `The body is not valid JSON: ${reasonOf(cause)}.`,
      {},
      { cause },
    );
  }
}

function reasonOf(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  // JSON.parse quotes the text around the fault, which may be all of a large body.
  const short = message.length > 300 ? `${message.slice(0, 300)}…` : message;
  return short.replace(/\.$/, '');
}
