import { statfsSync } from 'node:fs';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { readGauge } from '../platform/read-metrics.ts';
import { diskFaultOf } from '../platform/storage/folder/disk-faults.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { MIB } from './brokers.ts';

interface ReadinessOptions {
  readonly storage: Pick<Storage, 'ping'>;
  readonly dataDir: string;
  /** See MIN_FREE_MB. */
  readonly minFreeMb: number;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
}

type Space = 'ENOUGH' | 'LITTLE' | 'TOO_LITTLE';

/** Free space of the data folder is checked as often. */
const CHECK_MS = 10_000;
/** A result is used for as long, because any client may request it, and it costs a write. */
const FRESH_MS = 1_000;
/** How often `look` writes. */
const LOOK_MS = 5_000;

/** Whether the service can do its work: the database can be written, and the data folder has free space. */
export class Readiness {
  readonly #options: ReadinessOptions;
  readonly #timer: NodeJS.Timeout;
  #space: Space = 'ENOUGH';
  #diskFault: string | null = null;
  #last: { readonly at: number; readonly reason: Promise<string | null> } | null = null;

  constructor(options: ReadinessOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#checkSpace(), CHECK_MS).unref();
    this.#checkSpace();
  }

  /** Resolves with the reason; `null` if the service is ready. Never rejects. */
  readonly whyNot = (): Promise<string | null> => {
    const now = performance.now();
    if (this.#last === null || now - this.#last.at > FRESH_MS) this.#last = { at: now, reason: this.#check() };
    return this.#last.reason;
  };

  /** How much free space the data folder has now. */
  get space(): Space {
    return this.#checkSpace();
  }

  /** Why the database could not be written when that was last tried, such as “the disk is full”. */
  get diskFault(): string | null {
    return this.#diskFault;
  }

  /** Tries to write unless `whyNot` was called recently. */
  async look(): Promise<void> {
    if (this.#last === null || performance.now() - this.#last.at > LOOK_MS) await this.whyNot();
  }

  register(registry: Registry): void {
    const { dataDir } = this.#options;
    readGauge(registry, {
      name: 'brokergraph_data_free_bytes',
      help: 'Free space of the data folder',
      read: () => freeBytes(dataDir),
    });
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #check(): Promise<string | null> {
    if (this.#checkSpace() === 'TOO_LITTLE') return 'the data folder has less free space than MIN_FREE_MB';
    try {
      await this.#options.storage.ping();
      this.#diskFault = null;
      return null;
    } catch (error) {
      this.#diskFault = diskFaultOf(error);
      if (this.#diskFault === null) return 'the database does not respond';
      return `the database cannot store changes: ${this.#diskFault}`;
    }
  }

  #checkSpace(): Space {
    const { dataDir, minFreeMb, log } = this.#options;
    const freeMb = freeBytes(dataDir) / MIB;
    const space = freeMb >= 2 * minFreeMb ? 'ENOUGH' : freeMb >= minFreeMb ? 'LITTLE' : 'TOO_LITTLE';
    if (space === this.#space) return space;
    this.#space = space;
    const fields = { dataDir, freeMb: Math.floor(freeMb), minFreeMb };
    if (space === 'ENOUGH') log.info(fields, 'the data folder has enough free space again');
    else if (space === 'LITTLE') log.warn(fields, 'the data folder has little free space');
    else log.error(fields, 'the data folder has less free space than MIN_FREE_MB: /readyz responds with 503');
    return space;
  }
}

/** NaN if the folder cannot be read, which counts as too little. */
function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return Number.NaN;
  }
}
