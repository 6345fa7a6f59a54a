import type { Head } from '../../functions/storage/head.ts';
import { NOW_MS } from '../core/snapshot/builders.ts';

/** A head with an id as long as ids may be, every number as long as it gets, and so many accelerator models. */
export function headOfManyModels(models: number): Head {
  return {
    clusterId: `${'ä'.repeat(126)}x`,
    highWater: 18_446_744_073_709_551_614n,
    collectedAtNanos: 1_767_225_600_123_456_789n,
    receivedAtMs: NOW_MS,
    contentSince: { counter: 18_446_744_073_709_551_613n, atMs: NOW_MS },
    body: {
      contentId: 'ab'.repeat(32),
      parts: 115,
      rawBytes: 41_943_040,
      storedBytes: 40_000_001,
      crc32: 4_294_967_295,
      storedCrc32: 4_294_967_295,
      expiresAtS: 1_767_312_000,
    },
    identity: {
      displayName: 'Training cluster of the research department',
      provider: 'aws',
      region: 'eu-central-1',
      site: 'fra-dc-7',
    },
    accelerators: Array.from({ length: models }, (_, i) => ({
      model: `nvidia-h100-sxm5-80gb-${i}`,
      total: BigInt(1_000_000 - i),
      free: BigInt(i),
      unavailable: 3n,
    })),
    omittedModels: 0,
    warnings: 1_000,
  };
}
