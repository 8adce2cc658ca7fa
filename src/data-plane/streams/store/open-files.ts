import { readFileSync } from 'node:fs';
import { SegmentFile } from './segment-file.ts';

interface Open {
  readonly file: SegmentFile;
  usedAt: number;
  readonly onClose: () => void;
}

/** Open segments of all streams, at most `max`. The least recently used one is closed to open another. */
export class OpenFiles {
  readonly #max: number;
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

/** Minimum, also used when the limit of the process is unknown. */
const FEW = 128;
/** Maximum. Each open segment takes about 200 KiB of memory. */
const MOST = 1_024;
/** Share of the process limit for segments, with two handles each. Brokers and clients need the other handles. */
const SHARE = 1 / 8;

/**
 * Returns the maximum number of open segments, as high as `limits` allow. `limits` is the text of `/proc/self/limits`
 * on Linux, or `null` if unknown. With more storing streams than open segments, each message waits until one file is
 * closed and another is opened.
 */
export function segmentsToOpen(limits: string | null): number {
  const soft = /^Max open files +(\d+|unlimited)/m.exec(limits ?? '')?.[1];
  if (soft === undefined) return FEW;
  const most = soft === 'unlimited' ? MOST : Math.floor((Number(soft) * SHARE) / 2);
  return Math.min(MOST, Math.max(FEW, most));
}

export function limitsOfProcess(): string | null {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return null;
  }
}
