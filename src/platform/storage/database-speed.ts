import pg from 'pg';
import type { Registry } from 'prom-client';
import { readCounter, readGauge } from '../read-metrics.ts';
import type { StorageLog } from './storage-log.ts';

const SLOW_MS = 500;
const TICK_MS = 100;
/** The database is fast again when no statement was slow for this long. */
const CALM_MS = 5_000;

/** Of a statement in the log. Values are parameters, which are not part of it. */
const MAX_TEXT = 300;

interface Running {
  readonly text: string;
  ticks: number;
}

/**
 * Notices statements and heartbeats that take longer than SLOW_MS, while they run. Slow ones in a row are one warning,
 * and one line when the database is fast again. Times are counted in ticks in which this process handles its events,
 * so that its own pauses do not count.
 */
export class DatabaseSpeed {
  readonly #log: StorageLog;
  readonly #running = new Set<Running>();
  #timer: NodeJS.Timeout | null = null;
  #slow: { readonly since: Date; count: number; until: number; slowest: Running } | null = null;
  #count = 0;

  constructor(log: StorageLog) {
    this.#log = log;
  }

  /** A statement begins. The result is called once, when it has ended. */
  begin(text = ''): () => void {
    const statement: Running = { text, ticks: 0 };
    this.#running.add(statement);
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS).unref();
    return () => {
      this.#running.delete(statement);
      if (isSlow(statement)) this.#extend();
      else this.#checkCalm();
      if (this.#running.size > 0 || this.#timer === null) return;
      clearInterval(this.#timer);
      this.#timer = null;
    };
  }

  get isSlow(): boolean {
    if (this.#running.size === 0) this.#checkCalm();
    return this.#slow !== null;
  }

  register(registry: Registry): void {
    readGauge(registry, {
      name: 'brokergraph_database_slow',
      help: '1 while statements on PostgreSQL take longer than 500 ms, otherwise 0',
      read: () => Number(this.#slow !== null),
    });
    readCounter(registry, {
      name: 'brokergraph_database_slow_statements_total',
      help: 'Number of statements and heartbeats on PostgreSQL that took longer than 500 ms',
      read: () => this.#count,
    });
  }

  #tick(): void {
    for (const statement of this.#running) {
      statement.ticks += 1;
      if (!isSlow(statement)) continue;
      if (statement.ticks === SLOW_TICKS) this.#noticed(statement);
      if (this.#slow !== null && statement.ticks > this.#slow.slowest.ticks) this.#slow.slowest = statement;
      this.#extend();
    }
  }

  #noticed(statement: Running): void {
    this.#count += 1;
    if (this.#slow === null) {
      const since = new Date(Date.now() - SLOW_MS);
      this.#slow = { since, count: 0, until: 0, slowest: statement };
      const fields = { since, slowMs: SLOW_MS, statement: statement.text.slice(0, MAX_TEXT) };
      this.#log.warn(fields, 'The database is slow: a statement takes long');
    }
    this.#slow.count += 1;
  }

  #extend(): void {
    if (this.#slow !== null) this.#slow.until = performance.now() + CALM_MS;
  }

  #checkCalm(): void {
    if (this.#slow === null || performance.now() < this.#slow.until) return;
    const { since, count, slowest } = this.#slow;
    this.#slow = null;
    const statement = slowest.text.slice(0, MAX_TEXT);
    this.#log.info(
      { since, slowStatements: count, slowest: { statement, ms: slowest.ticks * TICK_MS } },
      'The database is fast again',
    );
  }
}

/** The first tick may come at once. */
const SLOW_TICKS = SLOW_MS / TICK_MS + 1;

const isSlow = ({ ticks }: Running): boolean => ticks >= SLOW_TICKS;

/** `statement`: the text, or an object of `pg` with it. */
function textOf(statement: unknown): string {
  if (typeof statement === 'string') return statement;
  const { text } = (statement ?? {}) as { readonly text?: unknown };
  return typeof text === 'string' ? text : '';
}

/** A class of clients that reports how long their statements take. */
export function timedClient(speed: DatabaseSpeed): typeof pg.Client {
  class TimedClient extends pg.Client {}
  // Defined without its type, which has an overload for each way to return the result.
  const value = function query(this: pg.Client, ...values: unknown[]): unknown {
    const { query } = pg.Client.prototype as { query(...values: unknown[]): unknown };
    const end = speed.begin(textOf(values[0]));
    const callback = values.at(-1);
    if (typeof callback === 'function') {
      return query.call(this, ...values.slice(0, -1), (...results: unknown[]) => {
        end();
        callback(...results);
      });
    }
    const result = query.call(this, ...values);
    if (result instanceof Promise) result.then(end, end);
    else end();
    return result;
  };
  Object.defineProperty(TimedClient.prototype, 'query', { value });
  return TimedClient;
}
