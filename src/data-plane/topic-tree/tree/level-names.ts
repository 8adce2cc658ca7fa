import { HashChains } from './hash-chains.ts';
import { hashOfText } from './hashing.ts';
import { NONE, Rows } from './rows.ts';

/**
 * The names of levels. Each is stored once. Its UTF-16 units are packed into 32-bit numbers that compare like names:
 * four units if all units of the name are below 256, and two otherwise.
 */
export class LevelNames {
  readonly #rows = new Rows();
  readonly #byText = new HashChains(this.#rows, NEXT, (row) => this.#rows.get(row, HASH));
  /** A version that changes whenever a number may have been assigned to another name. */
  reuses = 0;
  /** Texts of at most 64 bytes of names with at least 16 uses. Cleared when it has 1,024 texts. */
  readonly #texts = new Map<number, string>();
  /** Buffer of `unpack`, up to twice as large as the longest name that was requested. */
  unpacked = Buffer.allocUnsafeSlow(64);

  get end(): number {
    return this.#rows.end;
  }

  get bytes(): number {
    return this.#rows.bytes + this.#byText.bytes + this.#texts.size * TEXT_BYTES;
  }

  get spareBytes(): number {
    return this.#rows.spareBytes;
  }

  growth(topic: string): number {
    return this.#rows.growth(topic.length + 1);
  }

  find(text: string, from: number, to: number, hash = hashOfText(text, from, to)): number {
    for (let name = this.#byText.first(hash); name !== NONE; name = this.#byText.next(name)) {
      if (this.#rows.get(name, HASH) === hash && this.is(name, text, from, to)) return name;
    }
    return NONE;
  }

  use(name: number): void {
    this.#rows.set(name, USES, this.#rows.get(name, USES) + 1);
  }

  add(text: string, from: number, to: number, hash: number): number {
    const name = this.#rows.add();
    this.#rows.set(name, HASH, hash);
    this.#rows.set(name, USES, 1);
    this.#write(name, text, from, to);
    this.#byText.add(name, hash);
    return name;
  }

  release(name: number): void {
    const uses = this.#rows.get(name, USES) - 1;
    this.#rows.set(name, USES, uses);
    if (uses > 0) return;
    this.reuses += 1;
    this.#texts.delete(name);
    this.#byText.remove(name, this.#rows.get(name, HASH));
    let row = name;
    for (let more = moreRows(this.#rows.get(name, SIZE)); more > 0; more -= 1) {
      const next = this.#rows.get(row, MORE);
      this.#rows.remove(row);
      row = next;
    }
    this.#rows.remove(row);
  }

  text(name: number): string {
    const isOften = this.#rows.get(name, USES) >= OFTEN;
    const known = isOften ? this.#texts.get(name) : undefined;
    if (known !== undefined) return known;
    const bytes = this.unpack(name);
    const text = this.unpacked.toString(this.isWide(name) ? 'utf16le' : 'latin1', 0, bytes);
    if (isOften && bytes <= MAX_TEXT) {
      if (this.#texts.size === MAX_TEXTS) this.#texts.clear();
      this.#texts.set(name, text);
    }
    return text;
  }

  isWide(name: number): boolean {
    return (this.#rows.get(name, SIZE) & WIDE) === WIDE;
  }

  /**
   * Writes the units of a name to `unpacked`: one byte each, or two (little-endian) for a wide name. Returns the size.
   */
  unpack(name: number): number {
    const size = this.#rows.get(name, SIZE);
    const bytes = bytesOf(size);
    if (this.unpacked.length < bytes + 4) this.unpacked = Buffer.allocUnsafeSlow(bytes * 2 + 4);
    const scratch = this.unpacked;
    const isWide = (size & WIDE) === WIDE;
    let place = (name << 3) | TEXT;
    for (let at = 0; at < bytes; at += 4) {
      const units = this.#unitsAt(place);
      scratch[at] = isWide ? units >>> 16 : units >>> 24;
      scratch[at + 1] = isWide ? units >>> 24 : units >>> 16;
      scratch[at + 2] = isWide ? units : units >>> 8;
      scratch[at + 3] = isWide ? units >>> 8 : units;
      if (at + 4 < bytes) place = this.#placeAfter(place, bytes);
    }
    return bytes;
  }

  /** Compares two names by their UTF-16 units. Negative if `a` precedes `b`. */
  compare(a: number, b: number): number {
    if (a === b) return 0;
    const sizeOfA = this.#rows.get(a, SIZE);
    const sizeOfB = this.#rows.get(b, SIZE);
    if ((sizeOfA & WIDE) !== (sizeOfB & WIDE)) return this.text(a) < this.text(b) ? -1 : 1;
    const bytesOfA = bytesOf(sizeOfA);
    const bytesOfB = bytesOf(sizeOfB);
    const shorter = Math.min(bytesOfA, bytesOfB);
    let placeOfA = (a << 3) | TEXT;
    let placeOfB = (b << 3) | TEXT;
    for (let at = 0; at < shorter; at += 4) {
      const difference = (this.#unitsAt(placeOfA) >>> 0) - (this.#unitsAt(placeOfB) >>> 0);
      if (difference !== 0) return difference;
      if (at + 4 >= shorter) break;
      placeOfA = this.#placeAfter(placeOfA, bytesOfA);
      placeOfB = this.#placeAfter(placeOfB, bytesOfB);
    }
    return bytesOfA - bytesOfB;
  }

  compact(): (name: number) => number {
    this.reuses += 1;
    this.#texts.clear();
    const numberOf = this.#rows.compact();
    this.#byText.renumber(numberOf, (name) => {
      let row = name;
      for (let more = moreRows(this.#rows.get(name, SIZE)); more > 0; more -= 1) {
        const next = numberOf(this.#rows.get(row, MORE));
        this.#rows.set(row, MORE, next);
        row = next;
      }
    });
    return numberOf;
  }

  lengthOf(name: number): number {
    return this.#rows.get(name, SIZE) >>> 1;
  }

  is(name: number, text: string, from: number, to: number): boolean {
    const size = this.#rows.get(name, SIZE);
    if (size >>> 1 !== to - from) return false;
    if (from === to) return true;
    const bytes = bytesOf(size);
    const isWide = (size & WIDE) === WIDE;
    let place = (name << 3) | TEXT;
    for (let at = from; ; ) {
      const units = this.#unitsAt(place);
      if (isWide ? units !== packed(text, at, to, 2) : !isPacked(units, text, at, to)) return false;
      at += isWide ? 2 : 4;
      if (at >= to) return true;
      place = this.#placeAfter(place, bytes);
    }
  }

  #write(name: number, text: string, from: number, to: number): void {
    const isWide = hasWideUnits(text, from, to);
    const size = ((to - from) << 1) | (isWide ? WIDE : 0);
    this.#rows.set(name, SIZE, size);
    const isLong = bytesOf(size) > SHORT_BYTES;
    const perCell = isWide ? 2 : 4;
    let row = name;
    let column = TEXT;
    for (let at = from; at < to; at += perCell) {
      if (isLong && column === MORE) {
        const more = this.#rows.add();
        this.#rows.set(row, MORE, more);
        this.#rows.set(more, NEXT, NONE);
        row = more;
        column = MORE_TEXT;
      }
      this.#rows.set(row, column, packed(text, at, to, perCell));
      column += 1;
    }
  }

  #unitsAt(place: number): number {
    return this.#rows.get(place >>> 3, place & 7);
  }

  /** The position of the next units of a name that has this many bytes. */
  #placeAfter(place: number, bytes: number): number {
    if (bytes <= SHORT_BYTES || (place & 7) < MORE - 1) return place + 1;
    return (this.#rows.get(place >>> 3, MORE) << 3) | MORE_TEXT;
  }
}

/** A single row holds up to 16 bytes. The first row of a longer name holds 12 bytes, and each further row 24. */
const SHORT_BYTES = 16;
const FIRST_BYTES = 12;
const MORE_BYTES = 24;

const OFTEN = 16;
const MAX_TEXTS = 1_024;
const MAX_TEXT = 64;
const TEXT_BYTES = 150;

/** Columns of a name's first row. Further rows use only MORE, and the columns before it hold text. */
const NEXT = 0;
const HASH = 1;
const USES = 2;
/** Twice the number of units, plus 1 if some units are above 255. */
const SIZE = 3;
const TEXT = 4;
const MORE = 7;
const MORE_TEXT = 1;
const WIDE = 1;

const bytesOf = (size: number): number => (size & WIDE ? size & ~WIDE : size >>> 1);

function moreRows(size: number): number {
  const bytes = bytesOf(size);
  return bytes <= SHORT_BYTES ? 0 : Math.ceil((bytes - FIRST_BYTES) / MORE_BYTES);
}

/** Packs units from `at` on into one number. Units after the end are 0. */
function packed(text: string, at: number, to: number, count: number): number {
  const bits = 32 / count;
  let units = 0;
  for (let place = at; place < at + count; place += 1) {
    units = (units << bits) | (place < to ? text.charCodeAt(place) : 0);
  }
  return units;
}

/** Whether a number holds the four units from `at` on. */
function isPacked(units: number, text: string, at: number, to: number): boolean {
  for (let place = at, shift = 24; shift >= 0 && place < to; place += 1, shift -= 8) {
    if (text.charCodeAt(place) !== ((units >>> shift) & 255)) return false;
  }
  return true;
}

function hasWideUnits(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if (text.charCodeAt(at) > 255) return true;
  return false;
}
