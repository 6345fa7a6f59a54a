/** Attribute values: their order, their size, and copies that nobody else can change. */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';

export type Item = Record<string, AttributeValue>;

/** Order within one type; undefined for two types that do not compare. Numbers are compared exactly. */
export function compareValues(a: AttributeValue, b: AttributeValue): number | undefined {
  if (a.S !== undefined && b.S !== undefined) return Buffer.compare(Buffer.from(a.S), Buffer.from(b.S));
  if (a.B !== undefined && b.B !== undefined) return Buffer.compare(a.B, b.B);
  if (a.N !== undefined && b.N !== undefined) {
    const [x, y] = [BigInt(a.N), BigInt(b.N)];
    return x < y ? -1 : x > y ? 1 : 0;
  }
  if (a.BOOL !== undefined && b.BOOL !== undefined) return Number(a.BOOL) - Number(b.BOOL);
  return undefined;
}

/** A deep copy, as every response of a database is one. */
export function copyItem(item: Item): Item {
  return Object.fromEntries(
    Object.entries(item).map(([name, value]) => [
      name,
      value.B === undefined ? { ...value } : { B: Uint8Array.from(value.B) },
    ]),
  );
}

/**
 * Bytes of an item as DynamoDB counts them. Source: "DynamoDB item sizes and formats": names and
 * strings in UTF-8, a number as half its significant digits rounded up and one more, and one for
 * the sign of a negative one.
 */
export function sizeOf(item: Item): number {
  let bytes = 0;
  for (const [name, value] of Object.entries(item)) {
    bytes += Buffer.byteLength(name);
    if (value.S !== undefined) bytes += Buffer.byteLength(value.S);
    else if (value.B !== undefined) bytes += value.B.length;
    else if (value.N !== undefined) bytes += numberBytes(value.N);
    else bytes += 1;
  }
  return bytes;
}

function numberBytes(text: string): number {
  const negative = text.startsWith('-');
  const digits = (negative ? text.slice(1) : text).replace(/^0+/, '').replace(/0+$/, '');
  return Math.ceil(digits.length / 2) + 1 + (negative ? 1 : 0);
}

/** The key of an item as text that no other key has. */
export function textOfKey(key: AttributeValue | undefined): string {
  if (key?.S !== undefined) return `S${key.S}`;
  if (key?.N !== undefined) return `N${BigInt(key.N)}`;
  if (key?.B !== undefined) return `B${Buffer.from(key.B).toString('hex')}`;
  throw new Error(`Not a key: ${JSON.stringify(key)}`);
}
