/**
 * A stored row in few bytes. Per metric one byte of flags, then the numbers that they name: increases are exact, and so
 * are means; minima and maxima of several values have the precision of a float.
 */
import { ByteReader, ByteWriter } from './bytes.ts';
import { MAX, MEAN, type Measured, MIN, MISSED, NUMBERS, nothingMeasured, SUM } from './measured.ts';
import { METRICS } from './metric.ts';

/** The mean is known. */
const KNOWN = 1;
/** The mean is a count. */
const WHOLE = 2;
/** Minimum and maximum differ from the mean. */
const SPREAD = 4;
/** Both are counts. */
const WHOLE_SPREAD = 8;
const INCREASE = 16;
/** The mean is the increase divided by the measured time. */
const DERIVED = 32;
const MISSED_INCREASE = 64;

/** `coveredMs`: the measured time, which the reader knows, too. */
export function bytesOf(measured: Measured, coveredMs: number): Buffer {
  const writer = new ByteWriter();
  for (let first = 0; first < METRICS.length * NUMBERS; first += NUMBERS) {
    const number = (nth: number) => measured[first + nth] ?? Number.NaN;
    const [mean, min, max, sum, missed] = [number(MEAN), number(MIN), number(MAX), number(SUM), number(MISSED)];
    const isDerived = isCount(sum) && closeTo(mean, rateOf(sum, coveredMs));
    const isSpread = !Number.isNaN(mean) && (min !== mean || max !== mean);
    const flags =
      (Number.isNaN(mean) ? 0 : KNOWN) |
      (isDerived ? DERIVED : 0) |
      (!isDerived && isCount(mean) ? WHOLE : 0) |
      (isSpread ? SPREAD : 0) |
      (isSpread && isCount(min) && isCount(max) ? WHOLE_SPREAD : 0) |
      (isCount(sum) ? INCREASE : 0) |
      (isCount(missed) && missed > 0 ? MISSED_INCREASE : 0);
    writer.byte(flags);
    if (flags & INCREASE) writer.count(sum);
    if (flags & KNOWN && !isDerived) write(writer, mean, (flags & WHOLE) !== 0, true);
    if (isSpread) for (const edge of [min, max]) write(writer, edge, (flags & WHOLE_SPREAD) !== 0, false);
    if (flags & MISSED_INCREASE) writer.count(missed);
  }
  return writer.bytes();
}

/** Metrics that the row does not have are unknown. Errors: RangeError. */
export function measuredFrom(bytes: Uint8Array, coveredMs: number): Measured {
  const reader = new ByteReader(bytes);
  const measured = nothingMeasured();
  for (let first = 0; first < measured.length && !reader.isAtEnd; first += NUMBERS) {
    const flags = reader.byte();
    if (flags & INCREASE) measured[first + SUM] = reader.count();
    if (flags & KNOWN) {
      const mean =
        flags & DERIVED ? rateOf(measured[first + SUM] ?? 0, coveredMs) : read(reader, (flags & WHOLE) !== 0, true);
      measured.fill(mean, first + MEAN, first + MAX + 1);
      if (flags & SPREAD) {
        measured[first + MIN] = Math.min(mean, read(reader, (flags & WHOLE_SPREAD) !== 0, false));
        measured[first + MAX] = Math.max(mean, read(reader, (flags & WHOLE_SPREAD) !== 0, false));
      }
    }
    if (flags & MISSED_INCREASE) measured[first + MISSED] = reader.count();
  }
  return measured;
}

const rateOf = (sum: number, coveredMs: number): number => (coveredMs > 0 ? (sum * 1_000) / coveredMs : Number.NaN);

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

/** Means of several times are rounded differently. */
const closeTo = (one: number, other: number): boolean => Math.abs(one - other) <= Math.abs(one) * 1e-9;

function write(writer: ByteWriter, value: number, isWhole: boolean, isExact: boolean): void {
  if (isWhole) writer.count(value);
  else if (isExact) writer.double(value);
  else writer.float(value);
}

function read(reader: ByteReader, isWhole: boolean, isExact: boolean): number {
  if (isWhole) return reader.count();
  return isExact ? reader.double() : reader.float();
}
