import { ServiceError } from '../../platform/errors.ts';
import type { BrokerMessage, BrokerSession, LinkStatus, Stop } from '../../protocol/mqtt/broker-session.ts';

/**
 * What a broker publishes of itself below `$SYS`, with a bounded history.
 *
 * The last value of each topic is kept while the link lives: Mosquitto 2.0 tells values only when they change and lets retained
 * ones expire after a minute, so silence does not mean that a value is gone. It survives reconnects, and is dropped when the
 * link gets other settings, when the broker turns out to have been restarted (its uptime fell) and did not tell it again since
 * the connection came back, and when the broker tells a number that no counter can reach (2.0 shows underflows).
 *
 * Filters are named one by one instead of `$SYS/#`, which would bring the broker's whole log too.
 * Bounds: MAX_TOPICS topics, later ones are not taken up; MAX_TOPIC_LENGTH characters and MAX_LEVELS levels (what is nested by
 * the thousand can no longer be written as JSON) and MAX_PAYLOAD bytes, what is longer is not taken up; HISTORY samples, at least
 * SAMPLE_MS apart, the oldest dropped.
 */
export interface SysTopicsSample {
  /** Nested by topic level without `$SYS`: `{ broker: { clients: { total: "3" } } }`. */
  readonly topics: SysTree;
  /** Epoch milliseconds of the last message; 0: none yet. */
  readonly date: number;
}

export interface SysTree {
  readonly [level: string]: string | SysTree;
}

export interface SysTopicsOptions {
  /** Samples kept. Default 60. */
  readonly history?: number;
  /** Least time between samples. Default 9,000: what is told every 10 s comes a little early now and then. */
  readonly sampleMs?: number;
  /** Messages of so long a time are one change. Default 200: a broker tells all its values in one burst. */
  readonly burstMs?: number;
}

/** Told after each burst of values. */
export interface SysBurst {
  /** Epoch milliseconds of its last message. */
  readonly date: number;
  /** False: only retained messages, which were told nobody knows when. */
  readonly isLive: boolean;
  /** It became a sample of the history. */
  readonly isSample: boolean;
}

/** One message, as it came. */
export interface SysValue {
  readonly topic: string;
  readonly text: string;
  /** The broker had kept it: told nobody knows when. */
  readonly isRetained: boolean;
}

/** What is subscribed to. */
export const SYS_FILTERS: readonly string[] = [
  '$SYS/broker/+',
  ...['clients', 'messages', 'publish', 'bytes', 'store', 'subscriptions', 'shared_subscriptions', 'retained messages'],
  ...['heap', 'load', 'packet', 'connections', 'connection', 'plugin', 'cluster', 'ha', 'metrics'],
].map((name) => (name.startsWith('$') ? name : `$SYS/broker/${name}/#`));

const MAX_TOPICS = 2_000;
const MAX_PAYLOAD = 1_024;
const MAX_TOPIC_LENGTH = 512;
const MAX_LEVELS = 20;

const UPTIME = '$SYS/broker/uptime';

interface Value {
  /** Null: what came cannot be. */
  readonly text: string | null;
  /** Number of the connection that it came by. */
  readonly connection: number;
}

export class SysTopics {
  readonly #session: BrokerSession;
  readonly #history: number;
  readonly #sampleMs: number;
  readonly #burstMs: number;
  readonly #values = new Map<string, Value>();
  readonly #listeners = new Set<(burst: SysBurst) => void>();
  readonly #valueListeners = new Set<(value: SysValue) => void>();
  readonly #stopStatus: Stop;
  readonly #stops: Stop[] = [];
  #samples: SysTopicsSample[] = [];
  #current: SysTopicsSample | null = null;
  #date = 0;
  #connection = 0;
  #uptime = 0;
  #isLive = false;
  #timer: NodeJS.Timeout | null = null;
  #following = false;
  #closed = false;

  constructor(session: BrokerSession, { history = 60, sampleMs = 10_000, burstMs = 200 }: SysTopicsOptions = {}) {
    this.#session = session;
    this.#history = history;
    this.#sampleMs = sampleMs;
    this.#burstMs = burstMs;
    this.#stopStatus = session.onStatus((status) => this.#statusChanged(status));
    this.#statusChanged(session.status);
  }

  /** A value by its whole topic, such as `$SYS/broker/version`. */
  valueOf(topic: string): string | null {
    return this.#values.get(topic)?.text ?? null;
  }

  current(): SysTopicsSample {
    this.#current ??= { topics: treeOf(this.#values), date: this.#date };
    return this.#current;
  }

  /** Oldest first. */
  history(): readonly SysTopicsSample[] {
    return this.#samples;
  }

  /** Runs after each burst of values. */
  onBurst(listener: (burst: SysBurst) => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Runs for each message at once; one without payload, which clears what the broker kept, has an empty text. */
  onValue(listener: (value: SysValue) => void): Stop {
    this.#valueListeners.add(listener);
    return () => this.#valueListeners.delete(listener);
  }

  close(): void {
    this.#closed = true;
    this.#stopStatus();
    if (this.#timer) clearTimeout(this.#timer);
    for (const stop of this.#stops.splice(0)) stop();
    this.#listeners.clear();
    this.#valueListeners.clear();
  }

  #statusChanged({ state }: LinkStatus): void {
    if (state === 'CONNECTING') {
      this.#values.clear();
      this.#samples = [];
      this.#current = null;
      this.#date = 0;
      this.#uptime = 0;
    } else if (state === 'CONNECTED' && !this.#closed) {
      this.#connection += 1;
      this.#isLive = false;
      if (this.#following) return;
      this.#following = true;
      this.#follow().catch(() => undefined);
    }
  }

  /** The link keeps subscriptions over reconnects; one that fails because the link went down is made at the next connection. */
  async #follow(): Promise<void> {
    const results = await Promise.allSettled(
      SYS_FILTERS.map(async (filter) => {
        const stop = await this.#session.subscribe(filter, (message) => this.#received(message));
        if (this.#closed) stop();
        else this.#stops.push(stop);
      }),
    );
    if (this.#closed || !results.some(wasInterrupted)) return;
    for (const stop of this.#stops.splice(0)) stop();
    this.#following = false;
    this.#statusChanged(this.#session.status);
  }

  #received({ topic, payload, retain }: BrokerMessage): void {
    if (payload.length > MAX_PAYLOAD) return;
    if (topic.length > MAX_TOPIC_LENGTH || topic.split('/').length > MAX_LEVELS) return;
    if (this.#values.size >= MAX_TOPICS && !this.#values.has(topic)) return;
    const text = Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString();
    for (const listener of this.#valueListeners) listener({ topic, text, isRetained: retain });
    if (text === '') return;
    const isAbsurd = /^-?\d+$/.test(text) && !Number.isSafeInteger(Number(text));
    this.#values.set(topic, { text: isAbsurd ? null : text, connection: this.#connection });
    this.#isLive ||= !retain;
    this.#date = Date.now();
    this.#current = null;
    this.#timer ??= setTimeout(() => {
      // Not yet: what waits in the socket, because this process was busy, belongs to the burst, too.
      setImmediate(() => this.#burstOver());
    }, this.#burstMs);
  }

  #burstOver(): void {
    this.#timer = null;
    if (this.#closed) return;
    this.#noticeRestart();
    const last = this.#samples.at(-1);
    const isSample = !last || this.#date - last.date >= this.#sampleMs;
    if (isSample) this.#samples = [...this.#samples.slice(-(this.#history - 1)), this.current()];
    const burst = { date: this.#date, isLive: this.#isLive, isSample };
    this.#isLive = false;
    for (const listener of this.#listeners) listener(burst);
  }

  #noticeRestart(): void {
    const uptime = Number.parseInt(this.valueOf(UPTIME) ?? '', 10);
    if (Number.isNaN(uptime)) return;
    if (uptime < this.#uptime) {
      for (const [topic, { connection }] of this.#values)
        if (connection !== this.#connection) this.#values.delete(topic);
      this.#current = null;
    }
    this.#uptime = uptime;
  }
}

/** A refused filter is left alone; one that got no answer is worth another try. */
const wasInterrupted = (result: PromiseSettledResult<unknown>): boolean =>
  result.status === 'rejected' &&
  result.reason instanceof ServiceError &&
  (result.reason.code === 'BROKER_UNREACHABLE' || result.reason.code === 'BROKER_TIMEOUT');

/** A level that is both a value and a parent stays a parent. */
function treeOf(values: ReadonlyMap<string, Value>): SysTree {
  const root: Record<string, unknown> = {};
  for (const [topic, { text }] of values) {
    if (text === null) continue;
    const levels = topic.split('/').slice(1);
    const leaf = levels.pop() ?? '';
    let node = root;
    for (const level of levels) node = childOf(node, level);
    if (typeof ownValue(node, leaf) !== 'object') define(node, leaf, text);
  }
  return root as SysTree;
}

function childOf(node: Record<string, unknown>, level: string): Record<string, unknown> {
  const known = ownValue(node, level);
  if (typeof known === 'object' && known !== null) return known as Record<string, unknown>;
  const child: Record<string, unknown> = {};
  define(node, level, child);
  return child;
}

const ownValue = (node: Record<string, unknown>, key: string): unknown =>
  Object.hasOwn(node, key) ? node[key] : undefined;

/** Not by assignment: a topic level may be called `__proto__`. */
function define(node: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(node, key, { value, enumerable: true, writable: true, configurable: true });
}
