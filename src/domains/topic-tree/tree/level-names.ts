import { HashChains } from './hash-chains.ts';
import { hashOfText } from './hashing.ts';
import { NONE, Rows } from './rows.ts';

/**
 * The names of levels, each kept once and known by a number, for as long as it is used.
 *
 * A name is one row, or several where it has more than 16 bytes: units of UTF-16 packed into 32-bit numbers, the first one highest, so
 * that numbers compare as names do; four to a number where all are below 256, else two.
 */
export class LevelNames {
  readonly #rows = new Rows();
  readonly #byText = new HashChains(this.#rows, NEXT, (row) => this.#rows.get(row, HASH));
  #size = 0;
  #reuses = 0;
  /** Of names that many nodes have: all go when there are 1,024 of them, and none has more than 64 bytes. */
  readonly #texts = new Map<number, string>();
  /** What `text` unpacks into: up to twice as large as the longest name that was asked for. */
  #scratch = Buffer.allocUnsafeSlow(64);

  /** Names in use. */
  get size(): number {
    return this.#size;
  }

  /** All numbers of names are lower. */
  get end(): number {
    return this.#rows.end;
  }

  /** Another one for each change after which a number may be that of another name. */
  get reuses(): number {
    return this.#reuses;
  }

  get bytes(): number {
    return this.#rows.bytes + this.#byText.bytes + this.#texts.size * TEXT_BYTES;
  }

  /** Bytes that could still be used without more memory. */
  get spareBytes(): number {
    return this.#rows.spareBytes;
  }

  /** Bytes that the levels of a new topic can add at most. */
  growth(topic: string): number {
    return this.#rows.growth(topic.length + 1);
  }

  /** The number of the name between two places of a text; NONE: it is not in use. */
  find(text: string, from: number, to: number, hash = hashOfText(text, from, to)): number {
    for (let name = this.#byText.first(hash); name !== NONE; name = this.#byText.next(name)) {
      if (this.#rows.get(name, HASH) === hash && this.is(name, text, from, to)) return name;
    }
    return NONE;
  }

  /** One more use of a name. */
  use(name: number): void {
    this.#rows.set(name, USES, this.#rows.get(name, USES) + 1);
  }

  /** Makes a name that `find` did not find, for its first use. */
  add(text: string, from: number, to: number, hash: number): number {
    const name = this.#rows.add();
    this.#rows.set(name, HASH, hash);
    this.#rows.set(name, USES, 1);
    this.#write(name, text, from, to);
    this.#byText.add(name, hash);
    this.#size += 1;
    return name;
  }

  /** Ends one use; the name goes with the last one. */
  release(name: number): void {
    const uses = this.#rows.get(name, USES) - 1;
    this.#rows.set(name, USES, uses);
    if (uses > 0) return;
    this.#reuses += 1;
    this.#texts.delete(name);
    this.#byText.remove(name, this.#rows.get(name, HASH));
    this.#size -= 1;
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
    const text = this.#scratch.toString(this.isWide(name) ? 'utf16le' : 'latin1', 0, bytes);
    if (isOften && bytes <= MAX_TEXT) {
      if (this.#texts.size === MAX_TEXTS) this.#texts.clear();
      this.#texts.set(name, text);
    }
    return text;
  }

  /** Whether some of its units are above 255. */
  isWide(name: number): boolean {
    return (this.#rows.get(name, SIZE) & WIDE) === WIDE;
  }

  /** Where `unpack` puts what a name consists of, until it is called again. */
  get unpacked(): Uint8Array {
    return this.#scratch;
  }

  /** Puts a name's units where `unpacked` is: one byte each, or two, the lower one first, where it is a wide one. Answers how many bytes. */
  unpack(name: number): number {
    const size = this.#rows.get(name, SIZE);
    const bytes = bytesOf(size);
    if (this.#scratch.length < bytes + 4) this.#scratch = Buffer.allocUnsafeSlow(bytes * 2 + 4);
    const scratch = this.#scratch;
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

  /** Below 0: `a` comes before `b`, by UTF-16 units. */
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

  /** Gives memory back. Answers what each name's number is now. */
  compact(): (name: number) => number {
    this.#reuses += 1;
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

  /** Units of UTF-16. */
  lengthOf(name: number): number {
    return this.#rows.get(name, SIZE) >>> 1;
  }

  /** Whether it is what is between two places of a text. */
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

  /** Where the next units of a name of so many bytes are. */
  #placeAfter(place: number, bytes: number): number {
    if (bytes <= SHORT_BYTES || (place & 7) < MORE - 1) return place + 1;
    return (this.#rows.get(place >>> 3, MORE) << 3) | MORE_TEXT;
  }
}

/** A row holds up to 16 bytes of text; of a longer name 12, and 24 in each further row. */
const SHORT_BYTES = 16;
const FIRST_BYTES = 12;
const MORE_BYTES = 24;

/** Uses of a name whose text is kept. */
const OFTEN = 16;
const MAX_TEXTS = 1_024;
const MAX_TEXT = 64;
/** Of a text that is kept, with its entry. */
const TEXT_BYTES = 150;

/** Columns of a name's first row. In further rows only MORE is used, and the ones between hold text. */
const NEXT = 0;
const HASH = 1;
const USES = 2;
/** Twice the units, plus 1 where some are above 255. */
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

/** The units from `at` on as one number; 0 stands for those behind the end. */
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
