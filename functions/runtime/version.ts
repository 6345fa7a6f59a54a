/** The version of this package; a test compares it with package.json, which a Lambda bundle does not hold. */
export const VERSION = '0.1.0';
