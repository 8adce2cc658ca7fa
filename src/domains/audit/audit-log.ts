import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../../platform/storage/database.ts';
import type { ChainPosition, Marks, UnchainedEntry } from './audit-chain.ts';
import { ChainWriter } from './chain-writer.ts';

const MAX_BATCH = 200;
const MAX_WAITING = 10_000;
const RETRY_MS = 1_000;
const LAST_ATTEMPTS = 3;

interface AuditLogOptions {
  readonly db: Database;
  /** See ChainWriter. */
  readonly endsPending?: boolean;
  readonly marks: Marks;
  readonly log: Logger;
  readonly onHead?: (position: ChainPosition) => void;
  readonly onSettled: (entries: readonly UnchainedEntry[], written: boolean) => void;
}

interface Waiting {
  readonly entry: UnchainedEntry;
  readonly settle: () => void;
  isLogged: boolean;
}

/**
 * The queue of entries that are appended to the chain. Entries that arrive during a transaction are batched into the
 * next one, so batches grow while other processes write.
 *
 * Callers must refuse changes while `isFull`. The first failure of an entry is logged with its content.
 */
export class AuditLog {
  readonly #options: AuditLogOptions;
  readonly #writer: ChainWriter;
  #waiting: Waiting[] = [];
  #last: Promise<void> = Promise.resolve();
  #writing: Promise<void> | null = null;
  #isFailing = false;
  failedWrites = 0;
  readonly #closing = new AbortController();

  constructor(options: AuditLogOptions) {
    this.#options = options;
    this.#writer = new ChainWriter(options);
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get isFailing(): boolean {
    return this.#isFailing;
  }

  get isFull(): boolean {
    return this.#waiting.length >= MAX_WAITING;
  }

  /** Resolves when the entry is written, or after its first failure. Never rejects. */
  append(entry: UnchainedEntry): Promise<void> {
    this.#last = new Promise((settle) => {
      this.#waiting.push({ entry, settle, isLogged: false });
      this.#writing ??= this.#run();
    });
    return this.#last;
  }

  /** The end of the chain in the database, after the waiting entries were written or have failed once. */
  async head(): Promise<ChainPosition> {
    await this.#last;
    return this.#writer.head();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#writing;
  }

  async #run(): Promise<void> {
    await nextTurn();
    let lastAttempts = LAST_ATTEMPTS;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, MAX_BATCH);
      try {
        const head = await this.#writer.write(batch.map(({ entry }) => entry));
        this.#options.onHead?.(head);
        this.#isFailing = false;
        this.#settle(batch, true);
      } catch (error) {
        this.#failed(error);
        if (this.#closing.signal.aborted && --lastAttempts <= 0) {
          while (this.#waiting.length > 0) this.#settle(this.#waiting.slice(0, MAX_BATCH), false);
          break;
        }
        await delay(RETRY_MS, undefined, { signal: this.#closing.signal }).catch(() => undefined);
      }
    }
    this.#writing = null;
  }

  #settle(batch: readonly Waiting[], written: boolean): void {
    this.#waiting = this.#waiting.slice(batch.length);
    const entries = batch.map(({ entry }) => entry);
    this.#options.onSettled(entries, written);
    for (const { settle } of batch) settle();
  }

  #failed(error: unknown): void {
    const { log } = this.#options;
    this.failedWrites += 1;
    if (!this.#isFailing)
      log.error({ err: error }, 'could not write entries of the audit; they stay in the queue and are retried');
    this.#isFailing = true;
    for (const waiting of this.#waiting) {
      if (waiting.isLogged) continue;
      waiting.isLogged = true;
      log.error({ audit: waiting.entry }, 'could not write an entry of the audit');
      waiting.settle();
    }
  }
}
