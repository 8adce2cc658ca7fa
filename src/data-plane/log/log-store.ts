import { messageOf } from '../../platform/errors.ts';
import { settledWithin } from '../../platform/scheduling/within.ts';
import type { ValueOrPromise } from '../../platform/value-or-promise.ts';
import { DiskUse } from './disk-use.ts';
import type { LogDisk, LogOwner, OpenedLogs, StoredLog } from './log-disk.ts';
import { LogParts } from './log-parts.ts';
import type { LogWriter } from './log-writer.ts';
import { MessageLog } from './message-log.ts';

interface LogStoreOptions {
  readonly disk: LogDisk;
  readonly opened: OpenedLogs;
  readonly writer: LogWriter;
  /** Maximum size of the messages of all logs. It may be exceeded by one write. */
  readonly maxBytes: number;
  /** `name`: of the log, or `null` if all are affected. */
  readonly onProblem: (name: string | null, reason: string) => void;
  /** How long `close` waits for messages to be stored, in milliseconds. Default: until they are. */
  readonly closeMs?: number;
  /** Called at the end of `close`. */
  readonly onClose?: () => ValueOrPromise<void>;
}

/** Checks for expired messages per shortest ttl. */
const CHECKS_OF_TTL = 8;
const MAX_CHECK_MS = 30_000;

/** The logs of one broker. One process at a time has them open. */
export class LogStore {
  readonly #options: Omit<LogStoreOptions, 'opened'>;
  readonly #owner: LogOwner;
  readonly #logs = new Map<string, MessageLog>();
  /** Logs whose removal is not done. */
  readonly #removing = new Set<MessageLog>();
  readonly #use: DiskUse;
  #timer: NodeJS.Timeout | null = null;
  #timerMs = Number.POSITIVE_INFINITY;
  #expiring: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor({ opened: { owner, logs }, ...options }: LogStoreOptions) {
    this.#options = options;
    this.#owner = owner;
    this.#use = new DiskUse(options.maxBytes);
    for (const log of logs) this.#load(log);
  }

  /** Opens or creates a log. Returns the same object for the same name. */
  log(name: string): MessageLog {
    return this.#logs.get(name) ?? this.#add(name, { number: null, ttl: 0, lastId: 0, parts: [] });
  }

  /** The names of the logs with messages. */
  ids(): readonly string[] {
    return [...this.#logs].filter(([, log]) => !log.isEmpty).map(([name]) => name);
  }

  get bytes(): number {
    return this.#use.bytes;
  }

  /** Deletes or forgets expired messages. Happens by itself, too. */
  async expire(): Promise<void> {
    this.#expiring = this.#expiring.then(() => this.#expire());
    await this.#expiring;
  }

  /** What was stored of all logs is lost. */
  lose(): void {
    for (const log of [...this.#logs.values(), ...this.#removing]) log.lose();
  }

  /** Resolves when appended messages are stored, or after the limit; others are never reported as done. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#timer) clearTimeout(this.#timer);
    const { closeMs, onClose } = this.#options;
    const finished = [...this.#logs.values()].map(async (log) => log.finished());
    if (closeMs === undefined) await Promise.allSettled(finished);
    else await settledWithin(closeMs, finished);
    for (const log of [...this.#logs.values(), ...this.#removing]) log.close();
    await this.#expiring;
    await onClose?.();
  }

  #load({ name, ...stored }: StoredLog): void {
    const log = this.#add(name ?? `removed ${stored.number}`, stored);
    if (name === null) void this.#removed(log);
  }

  async #removed(log: MessageLog): Promise<void> {
    // Tried again at the next start.
    await log.remove().catch((error: unknown) => this.#options.onProblem(null, notErased(error)));
  }

  #add(
    name: string,
    { number, ttl, lastId, parts: stored }: Omit<StoredLog, 'name' | 'number'> & { number: number | null },
  ) {
    const { disk, writer, onProblem } = this.#options;
    const parts = new LogParts(stored, lastId);
    const log: MessageLog = new MessageLog({
      disk,
      writer,
      use: this.#use,
      owner: this.#owner,
      name,
      number,
      ttl,
      parts,
      onProblem: (error) => onProblem(name, `The retention of messages could not be written: ${messageOf(error)}`),
      onTtl: (seconds) => this.#schedule(seconds),
      onRemove: () => {
        if (this.#logs.get(name) === log) this.#logs.delete(name);
        this.#removing.add(log);
        return () => this.#removing.delete(log);
      },
    });
    this.#use.add(parts.bytes);
    this.#logs.set(name, log);
    this.#schedule(ttl);
    if (this.#isClosed) log.close();
    return log;
  }

  async #expire(): Promise<void> {
    for (const [name, log] of [...this.#logs]) {
      if (!this.#isClosed)
        await log.expire().catch((error: unknown) => this.#options.onProblem(name, notErased(error)));
    }
  }

  /** One timer for all logs; the shortest ttl sets its interval. */
  #schedule(ttl: number): void {
    const ms = ttl === 0 ? MAX_CHECK_MS : Math.min(MAX_CHECK_MS, (ttl * 1_000) / CHECKS_OF_TTL);
    if (this.#isClosed || this.#timerMs <= ms) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timerMs = ms;
    this.#timer = setTimeout(() => void this.#check(), ms).unref();
  }

  async #check(): Promise<void> {
    this.#timerMs = Number.POSITIVE_INFINITY;
    await this.expire();
    for (const { ttl } of this.#logs.values()) this.#schedule(ttl);
  }
}

const notErased = (error: unknown): string => `Expired messages could not be erased: ${messageOf(error)}`;
