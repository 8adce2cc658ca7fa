import { setImmediate as nextIteration } from 'node:timers/promises';
import { messageOf, ServiceError } from '../../../platform/errors.ts';
import { diskFaultOf } from '../../../platform/storage/folder/disk-faults.ts';
import type { HistoryGap, HistoryModule, HistoryQueries, HistoryRows, HistoryTable } from '../model/history-module.ts';
import type { HistoryState } from '../model/history-state.ts';
import { GAPS, gapRow } from './gaps.ts';
import type { HistoryDatabase, HistoryTransaction } from './history-database.ts';

/** A module whose types the store does not know. */
export type AnyModule = HistoryModule<never, HistoryQueries>;

export interface ModuleBatch {
  readonly module: string;
  readonly arrived: readonly unknown[];
  readonly gaps: readonly HistoryGap[];
}

interface HistoryCoreOptions {
  readonly database: HistoryDatabase;
  readonly modules: readonly AnyModule[];
  readonly keepMs: number;
  readonly maxBytes: number;
  readonly onState: (state: HistoryState) => void;
  /** Called after rows were deleted because the history was larger than `maxBytes`. */
  readonly onCut: (cut: HistoryCut) => void;
  readonly onProblem: (error: unknown) => void;
}

interface HistoryCut {
  readonly table: string;
  /** Time of the oldest rows that remain in the table, or earlier; `null` if none remain. */
  readonly since: string | null;
  /** Sizes of the whole history. */
  readonly bytesBefore: number;
  readonly bytes: number;
}

type Refused = Pick<HistoryState, 'problem' | 'code'>;

const WRITTEN: Refused = { problem: null, code: null };
/**
 * Codes of errors that the values of a row cause: classes 22 (data), 23 (integrity) and 54 (limits) of SQLSTATE, and
 * those of SQLite. The same row would be refused again.
 */
const OF_VALUES = /^(?:(?:22|23|54)...$|SQLITE_(?:CONSTRAINT|MISMATCH|TOOBIG))/;
/** How much below `maxBytes` the size is after a cut, as a share, so that cuts are rare. */
const CUT = 1 / 20;
const MAINTENANCE_MS = 60_000;

/**
 * The history of all modules in one database: batches are written in one transaction, rows are derived and deleted once
 * a minute. While nothing can be written, `write` refuses batches with the reason, and queries go on.
 */
export class HistoryCore {
  readonly #options: HistoryCoreOptions;
  readonly #modules: ReadonlyMap<string, AnyModule>;
  readonly #tables: ReadonlyMap<string, HistoryTable>;
  #state: HistoryState = { ...WRITTEN, bytes: null, oldest: null };
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(options: HistoryCoreOptions) {
    this.#options = options;
    this.#modules = new Map(options.modules.map((module) => [module.name, module]));
    const tables = [GAPS, ...options.modules.flatMap((module) => module.tables)];
    this.#tables = new Map(tables.map((table) => [table.name, table]));
  }

  /** Errors: those of the database. */
  async open(): Promise<void> {
    const { database } = this.#options;
    await database.create([...this.#tables.values()]);
    this.#timer = setInterval(() => {
      this.#working = this.#working.then(() => this.maintain().catch(this.#options.onProblem));
    }, MAINTENANCE_MS);
  }

  /**
   * Returns why the batches were not stored; they may come again. With REFUSED, only without the values that the
   * database refuses.
   */
  async write(batches: readonly ModuleBatch[]): Promise<Refused> {
    const refused = await this.#store(batches);
    const isOther = refused.problem !== this.#state.problem && refused.code !== 'REFUSED';
    if (isOther) this.#change({ ...this.#state, ...refused });
    return refused;
  }

  /** Errors: ServiceError INTERNAL_ERROR for an unknown name; those of the query and the database. */
  query(module: string, name: string, args: unknown): Promise<unknown> {
    const query = this.#modules.get(module)?.queries[name];
    if (query === undefined) throw new ServiceError('INTERNAL_ERROR', `The history has no query ${module}.${name}`);
    return query(this.#options.database, args as never);
  }

  /** Derives rows, and deletes what is too old or too much. Errors: those of the database. */
  async maintain(now = Date.now()): Promise<void> {
    const { database } = this.#options;
    await database.alone(async () => {
      if (database.lowSpace() === null) await this.#rollUp(now);
      for (const table of this.#tables.values()) await this.#deleteBefore(table, now - this.#keepMs(table));
      await this.#limitSize();
    });
    const oldest = await this.#oldest(now);
    this.#change({ ...this.#state, bytes: await database.bytes(), oldest: oldest < now ? oldest : null });
  }

  /** Ends a maintenance that is running after its present step. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#working;
    await this.#options.database.close();
  }

  async #store(batches: readonly ModuleBatch[]): Promise<Refused> {
    const { database } = this.#options;
    try {
      const low = database.lowSpace();
      if (low !== null) return { problem: `The history is not written: ${low}`, code: 'DISK_LOW' };
      await database.transaction(async (transaction) => {
        for (const { module, arrived, gaps } of batches) {
          const rows = await this.#modules.get(module)?.rowsOf(arrived as never[], transaction);
          if (rows !== undefined) await this.#insert(transaction, rows);
          if (gaps.length > 0)
            await transaction.insert(
              GAPS,
              gaps.map((gap) => gapRow(module, gap)),
            );
        }
      });
      return WRITTEN;
    } catch (error) {
      const code = isOfValues(error) ? 'REFUSED' : 'UNAVAILABLE';
      // Parts of the batch follow, until the value is found.
      const isFound = batches.reduce((count, { arrived }) => count + arrived.length, 0) <= 1;
      if (code !== 'REFUSED' || isFound) this.#options.onProblem(error);
      for (const { module } of batches) this.#modules.get(module)?.forget?.();
      const reason = diskFaultOf(error) ?? messageOf(error);
      return { problem: `The history is not written: ${reason}`, code };
    }
  }

  async #insert(transaction: HistoryTransaction, rows: HistoryRows): Promise<void> {
    for (const [name, ofTable] of rows) {
      const table = this.#tables.get(name);
      if (table !== undefined) await transaction.insert(table, ofTable);
    }
  }

  async #rollUp(now: number): Promise<void> {
    const { database } = this.#options;
    const store = (rows: HistoryRows) => database.transaction((transaction) => this.#insert(transaction, rows));
    for (const rollUp of [...this.#modules.values()].flatMap(({ rollUps = [] }) => rollUps)) {
      await rollUp(database, now, store);
      await nextIteration();
    }
  }

  #keepMs({ keepMs = this.#options.keepMs }: HistoryTable): number {
    return Math.min(keepMs, this.#options.keepMs);
  }

  async #deleteBefore(table: HistoryTable, time: number): Promise<void> {
    // Writes and queries that wait are first.
    while (!this.#isClosed && (await this.#options.database.deleteBefore(table, time))) await nextIteration();
  }

  /**
   * While the history is too large, deletes the oldest part of the largest table, but not so much that it becomes much
   * smaller than the second one. Stops when a deletion frees nothing.
   */
  async #limitSize(): Promise<void> {
    const { database, maxBytes, onCut } = this.#options;
    let bytesBefore = await database.bytes();
    if (bytesBefore <= maxBytes) return;
    const excess = () => bytesBefore - maxBytes * (1 - CUT);
    const sizes = await this.#sizes();
    while (excess() > 0 && !this.#isClosed) {
      const [largest, second] = sizes.sort((one, other) => other.bytes - one.bytes);
      if (largest === undefined || largest.bytes <= 0) return;
      const { table } = largest;
      const wanted = Math.min(excess(), Math.max(largest.bytes - (second?.bytes ?? 0), maxBytes * CUT));
      await database.deleteOldest(table, Math.min(1, wanted / largest.bytes), () => this.#isClosed);
      const bytes = await database.bytes();
      if (bytes >= bytesBefore) return;
      largest.bytes -= bytesBefore - bytes;
      const since = await database.oldest(table);
      onCut({ table: table.name, since: since === null ? null : new Date(since).toISOString(), bytesBefore, bytes });
      bytesBefore = bytes;
    }
  }

  /** Measured once: SQLite reads every page for it. */
  async #sizes(): Promise<{ readonly table: HistoryTable; bytes: number }[]> {
    const { database } = this.#options;
    const sizes: { readonly table: HistoryTable; bytes: number }[] = [];
    for (const table of this.#tables.values()) sizes.push({ table, bytes: await database.bytesOf(table) });
    return sizes;
  }

  /** Returns the time of the oldest rows, or an earlier one; `now` if there are none. */
  async #oldest(now: number): Promise<number> {
    let oldest = now;
    for (const table of this.#tables.values())
      oldest = Math.min(oldest, (await this.#options.database.oldest(table)) ?? now);
    return oldest;
  }

  #change(state: HistoryState): void {
    this.#state = state;
    this.#options.onState(state);
  }
}

function isOfValues(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError) return true;
  const code = (error as { readonly code?: unknown } | null)?.code;
  return typeof code === 'string' && OF_VALUES.test(code);
}
