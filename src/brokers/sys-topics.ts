import { ServiceError } from '../errors.ts';
import { Broadcast, type BroadcastEvent, type SubscriberOptions } from '../live/broadcast.ts';
import type { BrokerMessage, BrokerSession, LinkStatus, Stop } from '../mqtt/broker-session.ts';

/**
 * What a broker publishes of itself below `$SYS`, with a bounded history.
 *
 * The last value of each topic is kept while the link lives: Mosquitto 2.0 tells values only when they change and lets retained
 * ones expire after a minute, so silence does not mean that a value is gone. It survives reconnects, and is dropped when the
 * link gets other settings. Numbers that no counter can reach (2.0 shows underflows) are passed over.
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
  /** Least time between samples. Default 10,000. */
  readonly sampleMs?: number;
  /** Messages of so long a time are one change. Default 200: a broker tells all its values in one burst. */
  readonly burstMs?: number;
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

export type SysTopicsEvent = BroadcastEvent<SysTopicsSample, SysTopicsSample>;

export class SysTopics {
  readonly #session: BrokerSession;
  readonly #history: number;
  readonly #sampleMs: number;
  readonly #burstMs: number;
  readonly #values = new Map<string, string>();
  readonly #broadcast: Broadcast<SysTopicsSample, SysTopicsSample>;
  readonly #stopStatus: Stop;
  readonly #stops: Stop[] = [];
  #samples: SysTopicsSample[] = [];
  #current: SysTopicsSample | null = null;
  #date = 0;
  #timer: NodeJS.Timeout | null = null;
  #following = false;
  #closed = false;

  constructor(session: BrokerSession, { history = 60, sampleMs = 10_000, burstMs = 200 }: SysTopicsOptions = {}) {
    this.#session = session;
    this.#history = history;
    this.#sampleMs = sampleMs;
    this.#burstMs = burstMs;
    this.#broadcast = new Broadcast(() => this.current());
    this.#stopStatus = session.onStatus((status) => this.#statusChanged(status));
    this.#statusChanged(session.status);
  }

  /** A value by its whole topic, such as `$SYS/broker/version`. */
  valueOf(topic: string): string | null {
    return this.#values.get(topic) ?? null;
  }

  current(): SysTopicsSample {
    this.#current ??= { topics: treeOf(this.#values), date: this.#date };
    return this.#current;
  }

  /** Oldest first. */
  history(): readonly SysTopicsSample[] {
    return this.#samples;
  }

  /** The values now, then all values after each burst of changes. */
  watch(options: SubscriberOptions = {}): AsyncIterableIterator<SysTopicsEvent> {
    return this.#broadcast.subscribe(options);
  }

  close(): void {
    this.#closed = true;
    this.#stopStatus();
    if (this.#timer) clearTimeout(this.#timer);
    for (const stop of this.#stops.splice(0)) stop();
    this.#broadcast.close();
  }

  #statusChanged({ state }: LinkStatus): void {
    if (state === 'CONNECTING') {
      this.#values.clear();
      this.#samples = [];
      this.#current = null;
      this.#date = 0;
    } else if (state === 'CONNECTED' && !this.#following && !this.#closed) {
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

  #received({ topic, payload }: BrokerMessage): void {
    if (payload.length === 0 || payload.length > MAX_PAYLOAD) return;
    if (topic.length > MAX_TOPIC_LENGTH || topic.split('/').length > MAX_LEVELS) return;
    if (this.#values.size >= MAX_TOPICS && !this.#values.has(topic)) return;
    const text = Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString();
    if (/^-?\d+$/.test(text) && !Number.isSafeInteger(Number(text))) return;
    this.#values.set(topic, text);
    this.#date = Date.now();
    this.#current = null;
    this.#timer ??= setTimeout(() => this.#burstOver(), this.#burstMs);
  }

  #burstOver(): void {
    this.#timer = null;
    const current = this.current();
    const last = this.#samples.at(-1);
    if (!last || current.date - last.date >= this.#sampleMs) {
      this.#samples = [...this.#samples.slice(-(this.#history - 1)), current];
    }
    this.#broadcast.publish(current);
  }
}

/** A refused filter is left alone; one that got no answer is worth another try. */
const wasInterrupted = (result: PromiseSettledResult<unknown>): boolean =>
  result.status === 'rejected' &&
  result.reason instanceof ServiceError &&
  (result.reason.code === 'BROKER_UNREACHABLE' || result.reason.code === 'BROKER_TIMEOUT');

/** A level that is both a value and a parent stays a parent. */
function treeOf(values: ReadonlyMap<string, string>): SysTree {
  const root: Record<string, unknown> = {};
  for (const [topic, value] of values) {
    const levels = topic.split('/').slice(1);
    const leaf = levels.pop() ?? '';
    let node = root;
    for (const level of levels) node = childOf(node, level);
    if (typeof ownValue(node, leaf) !== 'object') define(node, leaf, value);
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
