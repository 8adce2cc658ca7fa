import { ServiceError } from '../../platform/errors.ts';
import type { BrokerMessage, BrokerSession, LinkStatus, Stop } from '../../protocol/mqtt/broker-session.ts';

export interface SysTopicsSample {
  /** Nested by topic level without `$SYS`: `{ broker: { clients: { total: "3" } } }`. */
  readonly topics: SysTree;
  /** Epoch milliseconds of the last message; 0 before the first one. */
  readonly date: number;
}

interface SysTree {
  readonly [level: string]: string | SysTree;
}

export interface SysTopicsOptions {
  readonly history?: number;
  /** Minimum time between samples. Default: 9,000. Brokers publish every 10 s or a little earlier. */
  readonly sampleMs?: number;
  /** Interval in which messages are one burst. Default: 200. A broker publishes all its values in one burst. */
  readonly burstMs?: number;
}

export interface SysBurst {
  readonly date: number;
  /** `false` if all messages were retained. */
  readonly isLive: boolean;
  readonly isSample: boolean;
}

export interface SysValue {
  readonly topic: string;
  readonly text: string;
  readonly isRetained: boolean;
}

/** The topic filters to subscribe to. `$SYS/#` would include the broker's whole log. */
export const SYS_FILTERS: readonly string[] = [
  '+',
  ...['clients/#', 'messages/#', 'publish/#', 'bytes/#', 'store/#', 'subscriptions/#', 'shared_subscriptions/#'],
  ...['retained messages/#', 'heap/#', 'load/#', 'packet/#', 'connections/#', 'connection/#', 'plugin/#'],
  ...['cluster/#', 'ha/#', 'metrics/#'],
].map((filter) => `$SYS/broker/${filter}`);

const MAX_TOPICS = 2_000;
const MAX_PAYLOAD = 1_024;
const MAX_TOPIC_LENGTH = 512;
/** Very deep nesting cannot be written as JSON. */
const MAX_LEVELS = 20;

const UPTIME = '$SYS/broker/uptime';

interface Value {
  readonly text: string | null;
  readonly connection: number;
}

/**
 * The values that a broker publishes below `$SYS`, with a bounded history.
 *
 * Mosquitto 2.0 publishes values only when they change, and its retained ones expire after a minute, so the last value
 * of a silent topic remains valid, also after a reconnect. Values are dropped when the settings of the link change,
 * when the broker restarted (its uptime decreased) and has not published them again, and when a number is out of range
 * (counters of 2.0 underflow). Messages beyond the limits are ignored.
 */
export class SysTopics {
  readonly #session: BrokerSession;
  readonly #options: Required<SysTopicsOptions>;
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

  constructor(session: BrokerSession, { history = 60, sampleMs = 9_000, burstMs = 200 }: SysTopicsOptions = {}) {
    this.#session = session;
    this.#options = { history, sampleMs, burstMs };
    this.#stopStatus = session.onStatus((status) => this.#statusChanged(status));
    this.#statusChanged(session.status);
  }

  valueOf(topic: string): string | null {
    return this.#values.get(topic)?.text ?? null;
  }

  current(): SysTopicsSample {
    this.#current ??= { topics: treeOf(this.#values), date: this.#date };
    return this.#current;
  }

  history(): readonly SysTopicsSample[] {
    return this.#samples;
  }

  onBurst(listener: (burst: SysBurst) => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls the listener for each message. An empty text means that the broker deleted the retained value. */
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
    if (state !== 'CONNECTED' || this.#closed) return;
    this.#connection += 1;
    this.#isLive = false;
    if (this.#following) return;
    this.#following = true;
    this.#follow().catch(() => undefined);
  }

  /** The link renews subscriptions after reconnects. Those that failed because the link was lost are repeated here. */
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
    const isOutOfRange = /^-?\d+$/.test(text) && !Number.isSafeInteger(Number(text));
    this.#values.set(topic, { text: isOutOfRange ? null : text, connection: this.#connection });
    this.#isLive ||= !retain;
    this.#date = Date.now();
    this.#current = null;
    this.#timer ??= setTimeout(() => {
      // Messages that wait in the socket because this process was busy belong to the burst, too.
      setImmediate(() => this.#burstOver());
    }, this.#options.burstMs);
  }

  #burstOver(): void {
    this.#timer = null;
    if (this.#closed) return;
    this.#noticeRestart();
    const last = this.#samples.at(-1);
    const isSample = !last || this.#date - last.date >= this.#options.sampleMs;
    if (isSample) this.#samples = [...this.#samples.slice(-(this.#options.history - 1)), this.current()];
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

/** A refused filter is not repeated; a filter without a response is. */
const wasInterrupted = (result: PromiseSettledResult<unknown>): boolean =>
  result.status === 'rejected' &&
  result.reason instanceof ServiceError &&
  (result.reason.code === 'BROKER_UNREACHABLE' || result.reason.code === 'BROKER_TIMEOUT');

/** The value of a topic that is also a parent of other topics is omitted. */
function treeOf(values: ReadonlyMap<string, Value>): SysTree {
  // Without a prototype, a topic level with the name `__proto__` is a key like any other.
  const newNode = (): Record<string, string | SysTree> => Object.create(null);
  const root = newNode();
  for (const [topic, { text }] of values) {
    if (text === null) continue;
    const levels = topic.split('/').slice(1);
    const leaf = levels.pop() ?? '';
    let node = root;
    for (const level of levels) {
      const known = node[level];
      const child = typeof known === 'object' ? (known as typeof root) : newNode();
      node[level] = child;
      node = child;
    }
    if (typeof node[leaf] !== 'object') node[leaf] = text;
  }
  return root;
}
