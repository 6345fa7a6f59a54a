/** Snapshots from files: ProtoJSON or Protobuf, gzip or plain, `-` for standard input. */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { decodeSnapshot, isGzip } from '../core/snapshot/decode.ts';
import type { ClusterResourceMap } from '../gen/resourcemap/v1/resource_map_pb.ts';
import { MAX_INFLATED_BYTES } from '../http/limits.ts';
import { UsageError } from './failure.ts';
import { decodedFrom, readInput } from './input-file.ts';

const gunzipAsync = promisify(gunzip);

/**
 * Reads one snapshot. Which form it is in is read from the bytes, so that a file's name
 * does not matter: gzip by its magic number, JSON by its first brace.
 *
 * @throws UsageError that names the file, where it cannot be read or is no snapshot
 */
export async function readSnapshotFile(file: string): Promise<ClusterResourceMap> {
  const bytes = await inflated(file, await readInput(file));
  return decodedFrom(file, () => decodeSnapshot(bytes, startsLikeJson(bytes) ? 'json' : 'protobuf'));
}

async function inflated(file: string, bytes: Uint8Array): Promise<Uint8Array> {
  if (!isGzip(bytes)) return bytes;
  try {
    return await gunzipAsync(bytes, { maxOutputLength: MAX_INFLATED_BYTES });
  } catch (error) {
    throw new UsageError(
      `${file} is not valid gzip of at most ${MAX_INFLATED_BYTES} bytes: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
}

/** A Protobuf message could begin with `{` (field 15 as a group) only if it were no ClusterResourceMap. */
function startsLikeJson(bytes: Uint8Array): boolean {
  const firstVisible = bytes.find((byte) => byte !== 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d);
  return firstVisible === 0x7b;
}
