/** A text in lower case that is looked for in others of one byte per unit (Latin-1), whatever case they are in. */
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

/** Lower case of each byte; in Latin-1 it is of one byte, too. */
const LOWER = Uint8Array.from({ length: 256 }, (_, unit) => String.fromCharCode(unit).toLowerCase().charCodeAt(0));
