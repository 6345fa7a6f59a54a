/** Versions of an API server's store. They are decimal numbers wherever etcd is behind it, and grow with every write. */

/**
 * Whether a version is of an earlier state than another one. Of versions that are no numbers
 * nothing is known, and none is refused for that.
 */
export function isOlder(version: string, than: string): boolean {
  return DECIMAL.test(version) && DECIMAL.test(than) && BigInt(version) < BigInt(than);
}

const DECIMAL = /^\d{1,30}$/;
