import { SegmentFile } from './segment-file.ts';

interface Open {
  readonly file: SegmentFile;
  usedAt: number;
  readonly onClose: () => void;
}

/** Open segments of all streams, at most `max`: the one that was used longest ago is closed for the next one. */
export class OpenFiles {
  readonly #max: number;
  /** By path; in the order of their last use. */
  readonly #open = new Map<string, Open>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#open.size;
  }

  /** `onClose`: it is closed now, and its WAL is part of it. */
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

  /** One that is not open is closed. */
  close(path: string): void {
    const open = this.#open.get(path);
    if (!open) return;
    this.#open.delete(path);
    // What cannot be written into the file stays in its WAL, where the next one to open it finds it.
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
