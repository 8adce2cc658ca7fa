import type { Statement } from 'better-sqlite3';

export type SqlValue = string | number | null | Uint8Array;

export interface Write {
  readonly statement: Statement;
  readonly values: readonly SqlValue[];
}

/** The disk cannot be written, so what was added is not stored yet. The message has the reason. */
export class DiskFault extends Error {
  override readonly name = 'DiskFault';

  constructor(reason: string) {
    super(`cannot store: ${reason}`);
  }
}

const RETRY_MS = 1_000;
/** Maximum number and bytes of writes that wait for a disk. */
const MAX_WRITES = 200_000;
const MAX_BYTES = 64 * 1_048_576;

/** Writes of a journal that wait in memory until the disk can be written, in order. */
export class WaitingWrites {
  readonly fault: DiskFault;
  /** Resolves when they are written, or never will be. */
  readonly written: Promise<void>;
  readonly #writes = new Map<string | number, Write>();
  readonly #timer: NodeJS.Timeout;
  #resolve: () => void = () => {};
  #count = 0;
  #bytes = 0;

  constructor(fault: DiskFault, writes: readonly Write[], repeat: () => void) {
    this.fault = fault;
    this.written = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    for (const write of writes) this.add(write, null);
    this.#timer = setInterval(repeat, RETRY_MS);
  }

  get isFull(): boolean {
    return this.#writes.size > MAX_WRITES || this.#bytes > MAX_BYTES;
  }

  all(): Iterable<Write> {
    return this.#writes.values();
  }

  add(write: Write, key: string | null): void {
    const replaced = key === null ? undefined : this.#writes.get(key);
    if (key !== null && replaced) {
      // The later write takes its place at the end.
      this.#writes.delete(key);
      this.#bytes -= bytesOf(replaced);
    }
    this.#count += 1;
    this.#writes.set(key ?? this.#count, write);
    this.#bytes += bytesOf(write);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#resolve();
  }
}

const bytesOf = ({ values }: Write): number => {
  let bytes = 0;
  for (const value of values) if (typeof value === 'string' || value instanceof Uint8Array) bytes += value.length;
  return bytes;
};
