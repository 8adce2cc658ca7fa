import { SegmentFile } from './segment-file.ts';

interface Open {
  readonly file: SegmentFile;
  usedAt: number;
  readonly onClose: () => void;
}

/** Open segments of all streams, at most `max`. The least recently used one is closed to open another. */
export class OpenFiles {
  readonly #max: number;
  /** By path, in the order of last use. */
  readonly #open = new Map<string, Open>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Returns the open file, or opens it. `onClose` is called after the file is closed and its WAL is merged. */
  use(path: string, onClose: () => void): SegmentFile {
    const known = this.#open.get(path);
    const open = known ?? { file: new SegmentFile(path), usedAt: 0, onClose };
    open.usedAt = performance.now();
    this.#open.delete(path);
    this.#open.set(path, open);
    if (known === undefined && this.#open.size > this.#max) {
      const [oldest] = this.#open.keys();
      if (oldest !== undefined) this.close(oldest);
    }
    return open.file;
  }

  /** Closes the file if it is open. */
  close(path: string): void {
    const open = this.#open.get(path);
    if (!open) return;
    this.#open.delete(path);
    // If the checkpoint fails, the data remains in the WAL, and the next open reads it from there.
    open.file.close();
    open.onClose();
  }

  closeIdle(idleMs: number): void {
    const before = performance.now() - idleMs;
    for (const [path, { usedAt }] of this.#open) {
      if (usedAt > before) return;
      this.close(path);
    }
  }

  closeAll(): void {
    for (const path of [...this.#open.keys()]) this.close(path);
  }
}
