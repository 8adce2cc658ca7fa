/**
 * Arrays as binary parameters of a statement: many rows in one statement, with a parameter for each column, and without
 * the hexadecimal text that pg makes of bytes. pg sends a Buffer as a binary parameter. The format is that of
 * `array_send` in PostgreSQL.
 */

const TYPES = { bytea: 17, bigint: 20, smallint: 21, integer: 23, text: 25 } as const;
const HEADER_BYTES = 5 * 4;
const TWO_POW_32 = 0x1_0000_0000;

export const texts = (values: readonly string[]): Buffer =>
  encoded(TYPES.text, values, Buffer.byteLength, (buffer, value, at) => buffer.write(value, at));

/** Safe integers. */
export const bigints = (values: readonly number[]): Buffer =>
  encoded(TYPES.bigint, values, eight, (buffer, value, at) => {
    const high = Math.floor(value / TWO_POW_32);
    buffer.writeInt32BE(high, at);
    buffer.writeUInt32BE(value - high * TWO_POW_32, at + 4);
  });

export const integers = (values: readonly number[]): Buffer =>
  encoded(TYPES.integer, values, four, (buffer, value, at) => buffer.writeInt32BE(value, at));

export const smallints = (values: readonly number[]): Buffer =>
  encoded(TYPES.smallint, values, two, (buffer, value, at) => buffer.writeInt16BE(value, at));

/** `null` elements are NULL. */
export const byteas = (values: readonly (Uint8Array | null)[]): Buffer =>
  encoded(TYPES.bytea, values, lengthOf, (buffer, value, at) => value !== null && buffer.set(value, at));

const two = () => 2;
const four = () => 4;
const eight = () => 8;
const NULL = -1;
const lengthOf = (value: Uint8Array | null) => value?.length ?? NULL;

function encoded<Value>(
  type: number,
  values: readonly Value[],
  lengthOf: (value: Value) => number,
  write: (buffer: Buffer, value: Value, at: number) => void,
): Buffer {
  let bytes = HEADER_BYTES + 4 * values.length;
  for (const value of values) bytes += Math.max(0, lengthOf(value));
  const buffer = Buffer.allocUnsafe(bytes);
  let at = 0;
  // One dimension, with NULLs, of this type, so many elements, numbered from 1.
  for (const number of [1, 1, type, values.length, 1]) at = buffer.writeInt32BE(number, at);
  for (const value of values) {
    const length = lengthOf(value);
    at = buffer.writeInt32BE(length, at);
    write(buffer, value, at);
    at += Math.max(0, length);
  }
  return buffer;
}
