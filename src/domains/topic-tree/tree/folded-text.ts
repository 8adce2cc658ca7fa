/** Case-insensitive search for a lower-case text in Latin-1 texts (one byte per unit). */
export class FoldedText {
  readonly #units: readonly number[];

  constructor(text: string) {
    this.#units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  }

  isIn(bytes: Uint8Array, length: number): boolean {
    const units = this.#units;
    const first = units[0];
    for (let from = 0, end = length - units.length; from <= end; from += 1) {
      if (LOWER[bytes[from] as number] !== first) continue;
      let at = 1;
      while (at < units.length && LOWER[bytes[from + at] as number] === units[at]) at += 1;
      if (at >= units.length) return true;
    }
    return units.length === 0;
  }
}

/** Lower case of each byte. In Latin-1, the lower case of a byte is also one byte. */
const LOWER = Uint8Array.from({ length: 256 }, (_, unit) => String.fromCharCode(unit).toLowerCase().charCodeAt(0));
