import type { TopicPayload } from '../model/topic-recorder.ts';
import { NONE, Rows } from './rows.ts';

/** The first bytes of payloads, as linked lists of rows, so that memory does not fragment. */
export class Previews {
  readonly #rows = new Rows();
  /** Buffer for copying payloads four bytes at a time. As large as the largest preview so far. */
  #scratch = Buffer.allocUnsafeSlow(0);
  #cells = new Int32Array(0);

  get bytes(): number {
    return this.#rows.bytes + this.#scratch.length;
  }

  get spareBytes(): number {
    return this.#rows.spareBytes;
  }

  growth(bytes: number): number {
    return this.#rows.growth(rowsOf(bytes));
  }

  add(payload: Uint8Array, limit: number): number {
    const kept = Math.min(payload.length, limit);
    if (kept > this.#scratch.length - MORE_BYTES) this.#widen(kept);
    this.#scratch.set(kept === payload.length ? payload : payload.subarray(0, kept), 0);
    const rows = this.#rows;
    const first = rows.add();
    rows.set(first, WHOLE, payload.length);
    rows.set(first, KEPT, kept);
    let row = first;
    let cell = 0;
    let column = FIRST_BYTE;
    for (let more = rowsOf(kept) - 1; ; more -= 1) {
      for (; column < 8; column += 1) rows.set(row, column, this.#cells[cell++] as number);
      if (more === 0) break;
      const next = rows.add();
      rows.set(row, NEXT, next);
      row = next;
      column = MORE_BYTE;
    }
    rows.set(row, NEXT, NONE);
    return first;
  }

  remove(preview: number): void {
    for (let row = preview; row !== NONE; ) {
      const next = this.#rows.get(row, NEXT);
      this.#rows.remove(row);
      row = next;
    }
  }

  get(preview: number): TopicPayload {
    const rows = this.#rows;
    let cell = 0;
    for (let row = preview, column = FIRST_BYTE; row !== NONE; row = rows.get(row, NEXT), column = MORE_BYTE) {
      for (; column < 8; column += 1) this.#cells[cell++] = rows.get(row, column);
    }
    return {
      data: this.#scratch.toString('base64', 0, rows.get(preview, KEPT)),
      bytes: rows.get(preview, WHOLE),
    };
  }

  #widen(bytes: number): void {
    this.#cells = new Int32Array(Math.ceil(bytes / 4) + MORE_BYTES / 4);
    this.#scratch = Buffer.from(this.#cells.buffer);
  }

  compact(): (preview: number) => number {
    const numberOf = this.#rows.compact();
    for (let row = 0; row < this.#rows.end; row += 1) {
      const next = this.#rows.get(row, NEXT);
      if (next !== NONE) this.#rows.set(row, NEXT, numberOf(next));
    }
    return numberOf;
  }
}

const NEXT = 0;
/** Only in the first row: size of the whole payload, and number of stored bytes. */
const WHOLE = 1;
const KEPT = 2;
const FIRST_BYTE = 3;
const MORE_BYTE = 1;

const FIRST_BYTES = 20;
const MORE_BYTES = 28;

const rowsOf = (bytes: number): number => 1 + Math.max(0, Math.ceil((bytes - FIRST_BYTES) / MORE_BYTES));
