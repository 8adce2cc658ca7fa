import { createHash } from 'node:crypto';
import type { ValueOrPromise } from '../../../platform/value-or-promise.ts';
import type { LogBatch, LogDisk, LogOwner, StoredLog } from '../../log/log-disk.ts';
import { LogParts } from '../../log/log-parts.ts';
import { carryOver, type SourceLog } from '../../log/log-source.ts';
import type { LogWriter } from '../../log/log-writer.ts';
import { formerFiles } from './former-files.ts';
import { messageBytes } from './queue-entry.ts';
import { QueueLog } from './queue-log.ts';
import { fromRecord } from './queue-record.ts';
import type { BrokerStorage } from './queue-storage.ts';

/** The logs of the queues of one bridge, which this process owns. */
export interface OpenedQueues {
  readonly disk: LogDisk;
  readonly writer: LogWriter;
  readonly owner: LogOwner;
  logs(): ValueOrPromise<readonly StoredLog[]>;
  /** Why messages of queues were lost when they were opened, by the names of their logs; '': of all. */
  readonly problems: ReadonlyMap<string, string>;
  /** `discard`: deletes all queues. */
  close(options: { readonly discard: boolean }): ValueOrPromise<void>;
}

interface QueueStoreOptions {
  /** The bridge, in the names of its logs. */
  readonly group: string;
  /** Default: unlimited. */
  readonly storage: BrokerStorage | undefined;
  /** `onDamage`: all that was stored is lost. Errors: those of the disk or the database. */
  readonly open: (onDamage: (reason: string) => void) => Promise<OpenedQueues>;
}

/** The key of a queue, for its name in its bridge, which is any text. */
export const queueKey = (name: string): string => createHash('sha256').update(name).digest('hex').slice(0, 32);

/** What the logs of the queues of a bridge belong to. */
export const QUEUES_OF = 'queues of ';
export const groupOf = (brokerId: string, bridgeId: string): string => `${QUEUES_OF}${brokerId}/${bridgeId}`;

export const logName = (group: string, key: string): string => `${group}/${key}`;

/** The stored queues of one bridge, opened with the first one that is wanted. Errors: those of the disk or database. */
export class QueueStore {
  readonly #options: QueueStoreOptions;
  #opening: Promise<OpenedQueues> | null = null;
  readonly #open = new Map<string, QueueLog>();

  constructor(options: QueueStoreOptions) {
    this.#options = options;
  }

  /** A queue is open once at a time. */
  async open(name: string): Promise<QueueLog> {
    const opened = await this.#opened();
    for (const [key, { isClosed }] of this.#open) if (isClosed) this.#open.delete(key);
    const of = this.#nameOf(name);
    const stored = (await opened.logs()).find((each) => each.name === of);
    const log = this.#logOf(opened, of, stored);
    this.#open.set(of, log);
    return log;
  }

  /** Deletes the queues with other names that are not open. Returns false if no queue can be opened. */
  async removeOthers(names: readonly string[]): Promise<boolean> {
    const opened = await this.#opened().catch(() => null);
    if (opened === null) return false;
    const remaining = new Set(names.map((name) => this.#nameOf(name)));
    const logs = await opened.logs();
    const isOpen = (name: string) => this.#open.get(name)?.isClosed === false;
    const others = logs.filter(({ name }) => name !== null && !remaining.has(name) && !isOpen(name));
    await Promise.all(others.map((each) => this.#logOf(opened, String(each.name), each).remove()));
    return true;
  }

  /** After its queues are closed. `discard`: deletes all of them. */
  async close({ discard }: { readonly discard: boolean }): Promise<void> {
    if (this.#opening === null && !discard) return;
    const opened = await this.#opened();
    this.#opening = null;
    await opened.close({ discard });
  }

  #opened(): Promise<OpenedQueues> {
    this.#opening ??= this.#openAll().catch((error: unknown) => {
      this.#opening = null;
      throw error;
    });
    return this.#opening;
  }

  async #openAll(): Promise<OpenedQueues> {
    const opened = await this.#options.open((reason) => {
      for (const log of this.#open.values()) if (!log.isClosed) log.damaged(reason);
    });
    // Their removal was interrupted. What fails is tried again at the next start.
    const removed = (await opened.logs()).filter(({ name }) => name === null);
    for (const each of removed) {
      void this.#logOf(opened, `removed ${each.number}`, each)
        .remove()
        .catch(() => undefined);
    }
    return opened;
  }

  #nameOf(name: string): string {
    return logName(this.#options.group, queueKey(name));
  }

  #logOf({ disk, writer, owner, problems }: OpenedQueues, name: string, stored: StoredLog | undefined): QueueLog {
    const parts = new LogParts(stored?.parts ?? [], stored?.lastId ?? 0);
    const problem = problems.get(name) ?? problems.get('') ?? null;
    const { storage } = this.#options;
    return new QueueLog({ disk, writer, owner, name, number: stored?.number ?? null, parts, storage, problem });
  }
}

interface CarryOverOptions {
  readonly group: string;
  readonly owner: LogOwner;
  /** At least the id of each message that is stored. */
  readonly lastId: number;
  readonly write: (batches: readonly LogBatch[]) => ValueOrPromise<void>;
  readonly problems: Map<string, string>;
}

/** Carries over the files in the folder that an earlier version has left, and deletes them. */
export async function carryOverFiles(folder: string, options: CarryOverOptions): Promise<void> {
  const { group, lastId, problems } = options;
  const former = formerFiles(folder, (key, reason) => problems.set(logName(group, key), reason));
  for (const { key, pages, remove } of former) {
    const source = {
      name: logName(group, key),
      ttl: 0,
      pages: (limit: number) => pages(limit, Math.max(lastId, Date.now() * 1_000)),
    };
    await carryOverQueue(source, options);
    remove();
  }
}

export async function carryOverQueue(
  source: Pick<SourceLog, 'name' | 'ttl' | 'pages'>,
  { owner, write }: Pick<CarryOverOptions, 'owner' | 'write'>,
): Promise<void> {
  await carryOver(source, { owner, write, sizeOf: ({ payload }) => messageBytes(fromRecord(payload)) });
}

export const lastIdOf = (logs: readonly StoredLog[]): number =>
  logs.reduce(
    (max, { lastId, parts }) => parts.reduce((most, { last }) => Math.max(most, last), Math.max(max, lastId)),
    0,
  );
