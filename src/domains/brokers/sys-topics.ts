import { Listeners } from '../../platform/listeners.ts';
import type { BrokerMessage, BrokerSession, LinkStatus, Stop } from '../../protocol/mqtt/broker-session.ts';
import { SysSubscriptions } from './sys-subscriptions.ts';

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
  /** See SysSubscriptions. */
  readonly refusedMs?: number;
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
  readonly #options: Required<Omit<SysTopicsOptions, 'refusedMs'>>;
  readonly #subscriptions: SysSubscriptions;
  readonly #values = new Map<string, Value>();
  readonly #listeners = new Listeners<[burst: SysBurst]>();
  readonly #valueListeners = new Listeners<[value: SysValue]>();
  readonly #problemListeners = new Listeners();
  readonly #stopStatus: Stop;
  #samples: StoredSample[] = [];
  /** The topics of `#values`, shared by the samples since the last one was added. */
  #names: readonly string[] | null = null;
  #current: SysTopicsSample | null = null;
  #date = 0;
  #connection = 0;
  #uptime = 0;
  #isLive = false;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(session: BrokerSession, options: SysTopicsOptions = {}) {
    const { history = 60, sampleMs = 9_000, burstMs = 200, refusedMs } = options;
    this.#options = { history, sampleMs, burstMs };
    this.#stopStatus = session.onStatus((status) => this.#statusChanged(status));
    this.#statusChanged(session.status);
    this.#subscriptions = new SysSubscriptions(session, {
      onMessage: (message) => this.#received(message),
      onProblem: () => {
        this.#problemListeners.notify();
      },
      refusedMs,
    });
  }

  /** See SysSubscriptions. */
  get problem(): string | null {
    return this.#subscriptions.problem;
  }

  readonly onProblem = this.#problemListeners.add;

  /** Access control was changed: what the broker refused is subscribed again. */
  lookAgain(): void {
    this.#subscriptions.lookAgain();
  }

  valueOf(topic: string): string | null {
    return this.#values.get(topic)?.text ?? null;
  }

  /** As `valueOf`, but only what was received over the present connection. */
  receivedValueOf(topic: string): string | null {
    const value = this.#values.get(topic);
    return value?.connection === this.#connection ? value.text : null;
  }

  current(): SysTopicsSample {
    this.#current ??= {
      topics: treeOf(Array.from(this.#values, ([topic, { text }]) => [topic, text])),
      date: this.#date,
    };
    return this.#current;
  }

  history(): readonly SysTopicsSample[] {
    return this.#samples;
  }

  readonly onBurst = this.#listeners.add;

  /** Calls the listener for each message. An empty text means that the broker deleted the retained value. */
  readonly onValue = this.#valueListeners.add;

  close(): void {
    this.#closed = true;
    this.#stopStatus();
    if (this.#timer) clearTimeout(this.#timer);
    this.#subscriptions.close();
    this.#listeners.clear();
    this.#valueListeners.clear();
    this.#problemListeners.clear();
  }

  #statusChanged({ state }: LinkStatus): void {
    if (state !== 'CONNECTED' || this.#closed) return;
    this.#connection += 1;
    this.#isLive = false;
  }

  #received({ topic, payload, retain }: BrokerMessage): void {
    if (payload.length > MAX_PAYLOAD) return;
    if (topic.length > MAX_TOPIC_LENGTH || topic.split('/').length > MAX_LEVELS) return;
    if (this.#values.size >= MAX_TOPICS && !this.#values.has(topic)) return;
    const text = Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString();
    this.#valueListeners.notify({ topic, text, isRetained: retain });
    if (text === '') return;
    const isOutOfRange = /^-?\d+$/.test(text) && !Number.isSafeInteger(Number(text));
    if (!this.#values.has(topic)) this.#names = null;
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
    // The clock may be set back.
    const sinceLast = last === undefined ? Number.POSITIVE_INFINITY : this.#date - last.date;
    const isSample = sinceLast < 0 || sinceLast >= this.#options.sampleMs;
    if (isSample) this.#samples = [...this.#samples.slice(-(this.#options.history - 1)), this.#sample()];
    const burst = { date: this.#date, isLive: this.#isLive, isSample };
    this.#isLive = false;
    this.#listeners.notify(burst);
  }

  #sample(): StoredSample {
    this.#names ??= [...this.#values.keys()];
    return new StoredSample(
      this.#names,
      Array.from(this.#values.values(), ({ text }) => text),
      this.#date,
    );
  }

  #noticeRestart(): void {
    const uptime = Number.parseInt(this.valueOf(UPTIME) ?? '', 10);
    if (Number.isNaN(uptime)) return;
    if (uptime < this.#uptime) {
      for (const [topic, { connection }] of this.#values)
        if (connection !== this.#connection) this.#values.delete(topic);
      this.#current = null;
      this.#names = null;
    }
    this.#uptime = uptime;
  }
}

/** A sample of the history with all texts in one string: nested objects take ten times the memory. */
class StoredSample implements SysTopicsSample {
  readonly #names: readonly string[];
  readonly #texts: string;
  readonly date: number;

  constructor(names: readonly string[], texts: readonly (string | null)[], date: number) {
    this.#names = names;
    this.#texts = JSON.stringify(texts);
    this.date = date;
  }

  get topics(): SysTree {
    const texts: readonly (string | null)[] = JSON.parse(this.#texts);
    return treeOf(this.#names.map((name, nth) => [name, texts[nth] ?? null]));
  }
}

/** The value of a topic that is also a parent of other topics is omitted. */
function treeOf(values: Iterable<readonly [topic: string, text: string | null]>): SysTree {
  // Without a prototype, a topic level with the name `__proto__` is a key like any other.
  const newNode = (): Record<string, string | SysTree> => Object.create(null);
  const root = newNode();
  for (const [topic, text] of values) {
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
