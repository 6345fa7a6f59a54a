/** Which currency codes are in ISO 4217. */

/**
 * What ISO 4217 lists beside the money that people pay with, and the runtime's
 * Unicode data therefore does not: funds codes, Venezuela's second code, precious
 * metals, bond-market units, units of account, and the codes for testing and for no
 * currency at all.
 */
const NOT_TENDER =
  'BOV CHE CHW CLF COU MXV USN UYI UYW VED XAD XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX';

let known: ReadonlySet<string> | undefined;

/** Whether a code is in ISO 4217, as the runtime's Unicode data (CLDR) knows it. */
export function isIso4217(code: string): boolean {
  known ??= new Set([...Intl.supportedValuesOf('currency'), ...NOT_TENDER.split(' ')]);
  return known.has(code);
}
