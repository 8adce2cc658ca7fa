import { LiveSource, OVER, type SubscriberOptions } from '../../gateway/live/live-source.ts';
import type { AuditEntry, Prisma } from '../../generated/sqlite/client.ts';
import type { Database } from '../../platform/storage/database.ts';

interface Position {
  /** Sequence of the last entry of the chain that the event covers. */
  readonly sequence: number;
  readonly partsLeft: 0 | 1;
}

export type AuditTailEvent = Position &
  (
    | { readonly kind: 'SNAPSHOT' | 'RESUMED' }
    | { readonly kind: 'GAP'; readonly missed: number }
    | { readonly kind: 'CHANGE'; readonly entries: readonly AuditEntry[] }
  );

type Batch = Extract<AuditTailEvent, { kind: 'CHANGE' }>;

/** Entries in one event. */
const MAX_ENTRIES = 100;
/** Entries of the chain that one query covers: without a suitable index the database reads them all. */
const WINDOW = 20_000;

/** The ends of the chain in the database. */
export interface AuditEnds {
  readonly first: number;
  readonly last: number;
}

/** The entries that match one filter. Subscribers at the same position share one read, and get the same event. */
export class AuditTail {
  readonly #db: Database;
  readonly #where: Prisma.AuditEntryWhereInput;
  /** Reads that are running. */
  readonly #reads = new Map<string, Promise<Batch>>();
  subscriberCount = 0;

  constructor(db: Database, where: Prisma.AuditEntryWhereInput) {
    this.#db = db;
    this.#where = where;
  }

  /** The matching entries after a position, at most MAX_ENTRIES. Its sequence is at most `last`. */
  after(position: number, last: number): Promise<Batch> {
    const to = Math.min(last, position + WINDOW);
    const key = `${position} ${to}`;
    const known = this.#reads.get(key);
    if (known !== undefined) return known;
    const read = this.#read(position, to).finally(() => this.#reads.delete(key));
    this.#reads.set(key, read);
    return read;
  }

  async #read(position: number, to: number): Promise<Batch> {
    const entries = await this.#db.auditEntry.findMany({
      where: { AND: [this.#where, { sequence: { gt: position, lte: to } }] },
      orderBy: { sequence: 'asc' },
      take: MAX_ENTRIES,
    });
    const sequence = entries.length < MAX_ENTRIES ? to : (entries.at(-1)?.sequence ?? to);
    return { kind: 'CHANGE', sequence, partsLeft: 0, entries };
  }
}

interface AuditReaderOptions extends SubscriberOptions {
  readonly tail: AuditTail;
  /** `isStart`: reads them now, otherwise they may be those of the last tick. */
  readonly ends: (isStart: boolean) => Promise<AuditEnds>;
  /** Calls back after entries were added. Returns a function that cancels it. */
  readonly onEntries: (position: number, wake: () => void) => () => void;
  readonly onEnd: () => void;
}

/**
 * One subscriber: a position in the chain. The database is its history, so it misses nothing as long as the entries
 * exist, and a slow one holds no memory.
 */
export class AuditReader extends LiveSource<AuditTailEvent> {
  readonly #options: AuditReaderOptions;
  readonly #after: number | null;
  readonly #abort = () => this.#settle({ error: this.#options.signal?.reason });
  #position: number | null = null;
  #ready: AuditTailEvent | null = null;
  #failure: { readonly error: unknown } | null = null;
  #isReading = false;
  #isClosed = false;
  #wake: (() => void) | null = null;
  #cancel: (() => void) | null = null;

  constructor(options: AuditReaderOptions) {
    super();
    const { signal, after } = options;
    this.#options = options;
    this.#after = after ?? null;
    options.tail.subscriberCount += 1;
    if (signal?.aborted) this.#abort();
    else signal?.addEventListener('abort', this.#abort, { once: true });
  }

  get isOver(): boolean {
    return this.#isClosed && this.#failure === null;
  }

  take(): AuditTailEvent | null {
    if (this.#failure !== null) {
      const { error } = this.#failure;
      this.#failure = null;
      throw error;
    }
    const ready = this.#ready;
    this.#ready = null;
    return ready;
  }

  wait(wake: () => void): void {
    this.#wake = wake;
    if (this.#isClosed || this.#ready !== null) this.#wakeSoon();
    else if (!this.#isReading) void this.#readNext();
  }

  async return() {
    this.#close();
    this.#wakeSoon();
    return OVER;
  }

  async #readNext(): Promise<void> {
    this.#isReading = true;
    try {
      let event: AuditTailEvent | null = null;
      while (event === null && !this.#isClosed) event = await this.#next();
      if (event !== null && !this.#isClosed) this.#ready = event;
      this.#wakeSoon();
    } catch (error) {
      this.#settle({ error });
    } finally {
      this.#isReading = false;
    }
  }

  /** `null` if there was nothing to send up to the new position. */
  async #next(): Promise<AuditTailEvent | null> {
    const { tail, ends } = this.#options;
    const position = this.#position;
    const { first, last } = await ends(position === null);
    if (position === null) return this.#start(last);
    if (position + 1 < first) {
      this.#position = first - 1;
      return { kind: 'GAP', sequence: first - 1, partsLeft: 0, missed: first - 1 - position };
    }
    if (position >= last) {
      await new Promise<void>((resolve) => {
        this.#cancel = this.#options.onEntries(position, resolve);
        if (this.#isClosed) resolve();
      });
      return null;
    }
    const batch = await tail.after(position, last);
    this.#position = batch.sequence;
    return batch.entries.length > 0 ? batch : null;
  }

  #start(last: number): AuditTailEvent {
    const after = this.#after;
    const isKnown = after !== null && Number.isSafeInteger(after) && after >= 0 && after <= last;
    this.#position = isKnown ? after : last;
    return { kind: isKnown ? 'RESUMED' : 'SNAPSHOT', sequence: this.#position, partsLeft: 0 };
  }

  #settle(failure: { readonly error: unknown }): void {
    if (this.#isClosed) return;
    this.#failure = failure;
    this.#close();
    this.#wakeSoon();
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#ready = null;
    this.#cancel?.();
    this.#options.signal?.removeEventListener('abort', this.#abort);
    this.#options.tail.subscriberCount -= 1;
    this.#options.onEnd();
  }

  #wakeSoon(): void {
    const wake = this.#wake;
    this.#wake = null;
    if (wake !== null) setImmediate(wake);
  }
}
