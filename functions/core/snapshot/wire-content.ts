/**
 * The content of a snapshot as it came over the wire: its bytes without `collected_at` and
 * `logical_counter`. Two pushes in which it is the same say the same, whatever their order of
 * fields and lists, and nothing of it has to be decoded to know that.
 */
import { fromBinary } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';
import { ClusterResourceMapSchema } from '../../gen/resourcemap/v1/resource_map_pb.ts';

/** A push in Protobuf, parted into what changes with each push and the content. */
export interface WireContent {
  readonly collectedAt: Timestamp;
  readonly logicalCounter: bigint;
  /** The content's bytes, to be read one after the other; views into the body. */
  readonly pieces: readonly Uint8Array[];
  /** Bytes of all pieces. */
  readonly length: number;
}

const COLLECTED_AT = ClusterResourceMapSchema.field.collectedAt.number;
const LOGICAL_COUNTER = ClusterResourceMapSchema.field.logicalCounter.number;

/**
 * Parts an encoded snapshot by its outermost fields alone.
 *
 * @returns nothing for bytes of which more must be known: damaged ones, and those in which either
 *   field is missing, occurs twice, or is not plainly what it should be
 */
export function wireContentOf(body: Uint8Array): WireContent | undefined {
  try {
    return partedOf(body);
  } catch {
    // What is wrong with it the decoder says.
    return undefined;
  }
}

function partedOf(body: Uint8Array): WireContent | undefined {
  const reader = new BinaryReader(body);
  const pieces: Uint8Array[] = [];
  let collectedAt: Timestamp | undefined;
  let logicalCounter: bigint | undefined;
  let from = 0;
  const leaveOut = (at: number): void => {
    if (at > from) pieces.push(body.subarray(from, at));
    from = reader.pos;
  };
  while (reader.pos < reader.len) {
    const at = reader.pos;
    const [number, wireType] = reader.tag();
    if (number === COLLECTED_AT) {
      if (wireType !== WireType.LengthDelimited || collectedAt !== undefined) return undefined;
      collectedAt = fromBinary(TimestampSchema, reader.bytes());
      if (collectedAt.$unknown !== undefined) return undefined;
      leaveOut(at);
    } else if (number === LOGICAL_COUNTER) {
      if (wireType !== WireType.Varint || logicalCounter !== undefined) return undefined;
      logicalCounter = BigInt(reader.uint64());
      leaveOut(at);
    } else if (wireType === WireType.LengthDelimited) {
      const length = reader.uint32();
      reader.pos += length;
      if (reader.pos > reader.len) return undefined;
    } else {
      // The outermost fields are messages. What else comes is of a newer version, or nothing valid.
      return undefined;
    }
  }
  if (collectedAt === undefined || logicalCounter === undefined) return undefined;
  if (body.length > from) pieces.push(body.subarray(from));
  return {
    collectedAt,
    logicalCounter,
    pieces,
    length: pieces.reduce((sum, piece) => sum + piece.length, 0),
  };
}
