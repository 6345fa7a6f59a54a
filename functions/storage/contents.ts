/**
 * Bodies in DynamoDB: immutable parts under the name of their content. A process that holds a
 * head finds exactly its body or nothing.
 *
 * The name is the body id and the CRC-32 of the deflated bytes. One content deflates to
 * other bytes with another version of zlib, and instances of two versions run side by
 * side whenever the runtime is updated: neither may write over parts that a head names.
 */
import { crc32 } from 'node:zlib';
import {
  type AttributeValue,
  BatchGetItemCommand,
  type DynamoDBClient,
  PutItemCommand,
} from '@aws-sdk/client-dynamodb';
import { CONTENT_RENEW_S } from '../core/membership.ts';
import type { EncodedContent } from '../core/snapshot/content.ts';
import { StoreUnavailableError } from './errors.ts';
import type { ContentRef } from './head.ts';
import { backOff, forEachConcurrently } from './retry.ts';
import { CONTENTS_KEY, type Tables } from './tables.ts';

/** An item may have 400 KB; the rest is for its key, with room to spare. */
export const PART_BYTES = 350_000;

/**
 * How long a body lives after it was written. Longer than any cluster can stay in the
 * map without a push, and short, since a busy cluster leaves one behind every few
 * seconds and each is paid for by the month.
 */
export const CONTENT_TTL_S = 2 * CONTENT_RENEW_S;

/** DynamoDB takes 100 keys and gives 16 MB in one batch; 42 full parts stay below that. */
const KEYS_PER_BATCH = 100;
const BYTES_PER_BATCH = 15_000_000;

/** Requests of one call under way at once: enough to hide latency, few enough for one connection pool. */
const CONCURRENCY = 8;

const UNPROCESSED_BACKOFF = { baseMs: 25, capMs: 1_000 } as const;
const UNPROCESSED_ATTEMPTS = 8;

export class ContentStore {
  constructor(
    private readonly client: DynamoDBClient,
    private readonly tables: Tables,
  ) {}

  /**
   * Writes all parts of a body, to be kept for {@link CONTENT_TTL_S}. Writing the same body again
   * only prolongs its life. One write unit for each kilobyte of a part and its key.
   */
  async write(body: EncodedContent, nowMs: number): Promise<ContentRef> {
    const expiresAtS = Math.floor(nowMs / 1_000) + CONTENT_TTL_S;
    const parts = Math.ceil(body.deflated.length / PART_BYTES);
    const storedCrc32 = crc32(body.deflated);
    const key = contentKey({ contentId: body.contentId, storedCrc32 });
    await forEachConcurrently(
      Array.from({ length: parts }, (_, part) => part),
      CONCURRENCY,
      async (part) => {
        await this.client.send(
          new PutItemCommand({
            TableName: this.tables.contents,
            Item: {
              [CONTENTS_KEY.partition]: { B: key },
              part: { N: String(part) },
              data: { B: body.deflated.subarray(part * PART_BYTES, (part + 1) * PART_BYTES) },
              expiresAt: { N: String(expiresAtS) },
            },
          }),
        );
      },
    );
    return {
      contentId: body.contentId,
      parts,
      rawBytes: body.rawBytes,
      storedBytes: body.deflated.length,
      crc32: body.crc32,
      storedCrc32,
      expiresAtS,
    };
  }

  /**
   * The deflated bytes of every body that is whole, by body id; the others are absent.
   * Asks at half price first, since a body was written before its head and is nearly
   * always seen at once, and again consistently for what that did not find.
   */
  async read(refs: readonly ContentRef[]): Promise<ReadonlyMap<string, Uint8Array>> {
    const contents = await this.#readParts(refs, false);
    const missing = refs.filter((ref) => !contents.has(ref.contentId));
    if (missing.length === 0) return contents;
    return new Map([...contents, ...(await this.#readParts(missing, true))]);
  }

  async #readParts(refs: readonly ContentRef[], consistent: boolean): Promise<Map<string, Uint8Array>> {
    const found = new Map<string, Uint8Array[]>();
    await forEachConcurrently(batches(refs), CONCURRENCY, async (keys) => {
      for (const item of await this.#readBatch(keys, consistent)) {
        const contentId = item[CONTENTS_KEY.partition]?.B;
        const data = item.data?.B;
        const part = Number(item.part?.N);
        if (contentId === undefined || data === undefined) continue;
        const key = Buffer.from(contentId).toString('hex');
        const parts = found.get(key) ?? [];
        parts[part] = data;
        found.set(key, parts);
      }
    });
    const whole = new Map<string, Uint8Array>();
    for (const ref of refs) {
      const parts = Object.values(found.get(contentKey(ref).toString('hex')) ?? []);
      const bytes = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
      if (parts.length === ref.parts && bytes.length === ref.storedBytes) whole.set(ref.contentId, bytes);
    }
    return whole;
  }

  async #readBatch(
    keys: readonly PartKey[],
    consistent: boolean,
  ): Promise<readonly Record<string, AttributeValue>[]> {
    const items: Record<string, AttributeValue>[] = [];
    let pending: Record<string, AttributeValue>[] = keys.map(({ key, part }) => ({
      [CONTENTS_KEY.partition]: { B: key },
      part: { N: String(part) },
    }));
    for (let attempt = 0; pending.length > 0; attempt++) {
      if (attempt > 0) await backOff(UNPROCESSED_BACKOFF, attempt);
      if (attempt >= UNPROCESSED_ATTEMPTS) {
        throw new StoreUnavailableError(new Error(`${pending.length} keys were left unprocessed`));
      }
      const response = await this.client.send(
        new BatchGetItemCommand({
          RequestItems: { [this.tables.contents]: { Keys: pending, ConsistentRead: consistent } },
        }),
      );
      const got = response.Responses?.[this.tables.contents] ?? [];
      items.push(...got);
      pending = response.UnprocessedKeys?.[this.tables.contents]?.Keys ?? [];
      // Batches stay below what one response can hold, so leftovers mean throttling: wait, but do
      // not count a try that brought something.
      if (got.length > 0) attempt = 0;
    }
    return items;
  }
}

interface PartKey {
  readonly key: Uint8Array;
  readonly part: number;
}

/** The partition key of a body's parts. */
export function contentKey({
  contentId,
  storedCrc32,
}: Pick<ContentRef, 'contentId' | 'storedCrc32'>): Buffer {
  const key = Buffer.alloc(36);
  key.write(contentId, 'hex');
  key.writeUInt32BE(storedCrc32, 32);
  return key;
}

/** Keys of all parts, in batches that DynamoDB answers in one go. Equal bodies are asked for once. */
function batches(refs: readonly ContentRef[]): PartKey[][] {
  const all: PartKey[][] = [];
  let batch: PartKey[] = [];
  let bytes = 0;
  for (const ref of new Map(refs.map((r) => [r.contentId, r])).values()) {
    const key = contentKey(ref);
    for (let part = 0; part < ref.parts; part++) {
      const size = Math.min(PART_BYTES, ref.storedBytes - part * PART_BYTES);
      if (batch.length === KEYS_PER_BATCH || (batch.length > 0 && bytes + size > BYTES_PER_BATCH)) {
        all.push(batch);
        batch = [];
        bytes = 0;
      }
      batch.push({ key, part });
      bytes += size;
    }
  }
  if (batch.length > 0) all.push(batch);
  return all;
}
