/** Checks the keys that an admin gives for an issuer which the service cannot reach. */
import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { quote } from '../core/quote.ts';

/** RFC 7518, sections 3.3 and 3.5. */
const MIN_RSA_BITS = 2048;

/**
 * Says what is wrong with a JWK Set in JSON, or `undefined` where every key of it can check
 * signatures.
 */
export function jwksFault(jwks: string): string | undefined {
  let parsed: { keys?: unknown } | null;
  try {
    parsed = JSON.parse(jwks) as { keys?: unknown } | null;
  } catch {
    return 'is no JSON; it must be a JWK Set, such as {"keys":[…]}';
  }
  const keys = parsed?.keys;
  if (!Array.isArray(keys) || keys.length === 0)
    return 'has no keys; it must be a JWK Set, such as {"keys":[…]}';
  for (const [i, key] of keys.entries()) {
    const fault = keyFault(key);
    if (fault !== undefined) return `has a key ${i} that ${fault}`;
  }
  return undefined;
}

function keyFault(key: unknown): string | undefined {
  if (typeof key !== 'object' || key === null) return 'is no object';
  const { kty, d, k } = key as Record<string, unknown>;
  // A reader of the table could then speak for the issuer.
  if (d !== undefined || k !== undefined) return 'is secret; give public keys only';
  let bits: number | undefined;
  try {
    bits = createPublicKey({ key: key as JsonWebKey, format: 'jwk' }).asymmetricKeyDetails?.modulusLength;
  } catch {
    return `is of the type ${quote(String(kty))} and no public key`;
  }
  if (bits !== undefined && bits < MIN_RSA_BITS) {
    return `is an RSA key of ${bits} bits; at least ${MIN_RSA_BITS} are taken`;
  }
  return undefined;
}
