/**
 * CRC-32 of joined data from the CRC-32s of its parts, without looking at the data.
 *
 * The CRC-32 of gzip (RFC 1952, section 8) is the remainder of the data, read as a polynomial
 * over GF(2), modulo P. Appending n bytes multiplies what stood before by x^(8n), so
 * crc(A then B) = crc(A) · x^(8·|B|) + crc(B) mod P; the ones that are added before and after
 * cancel out. This is the method of zlib's crc32_combine, by which pigz joins the work of its
 * threads.
 *
 * Polynomials are held reflected, as the CRC is: bit 31 is the coefficient of x^0.
 */

/** P without its x^32, reflected. */
const POLYNOMIAL = 0xedb88320;
const ONE = 0x8000_0000;
const X_TO_THE_8 = 0x0080_0000;

/** The product of two polynomials modulo P. */
function multiply(a: number, b: number): number {
  let product = 0;
  let factor = b;
  for (let rest = a; rest !== 0; rest <<= 1) {
    if (rest & ONE) product ^= factor;
    factor = factor & 1 ? (factor >>> 1) ^ POLYNOMIAL : factor >>> 1;
  }
  return product >>> 0;
}

/**
 * What appending so many bytes does to a CRC-32: x^(8·bytes) mod P, by repeated squaring.
 * It depends on the length alone, so a part that is joined often computes it once.
 */
export function crc32Shift(bytes: number): number {
  let shift = ONE;
  let power = X_TO_THE_8;
  for (let rest = bytes; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) shift = multiply(power, shift);
    power = multiply(power, power);
  }
  return shift >>> 0;
}

/**
 * The CRC-32 of A followed by B.
 * @param crcA CRC-32 of A
 * @param crcB CRC-32 of B
 * @param shiftB `crc32Shift` of B's length
 */
export function joinCrc32(crcA: number, crcB: number, shiftB: number): number {
  return (multiply(crcA, shiftB) ^ crcB) >>> 0;
}
