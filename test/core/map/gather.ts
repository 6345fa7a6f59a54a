import type { Payload } from '../../../functions/core/map/pieces.ts';

/** The payload in one piece. */
export function gather(payload: Payload): Buffer<ArrayBuffer> {
  return Buffer.concat([...payload.chunks], payload.length);
}
