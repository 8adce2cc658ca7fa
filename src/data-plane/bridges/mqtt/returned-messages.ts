import { crc32 } from 'node:zlib';
import type { BridgeLoop } from '../model/bridge-status.ts';

interface ReturnedMessagesOptions {
  /** Whether messages that come back are dropped. */
  readonly stops: boolean;
  readonly onLoop: (loop: BridgeLoop) => void;
  /** Called when `loop` has changed. */
  readonly onChange: () => void;
}

interface Forwarded {
  /** Where the message was when it was received last. */
  topic: string;
  /** When it was forwarded last. */
  at: number;
  /** How often it has come back since then; after WINDOW_MS it is counted again. */
  returns: number;
  since: number;
}

/** An equal message that is received within this time after it was forwarded is one that comes back. */
const WINDOW_MS = 10_000;
/** Number of times that a message comes back within WINDOW_MS until a loop is reported. */
const SUSPICIOUS = 50;
/** How long the other messages of a topic that was in a loop are suspected at once, since the last that came back. */
const SUSPECTED_MS = 600_000;
/** Maximum numbers of the messages and the topics that are remembered. Beyond them, the oldest are evicted. */
const MAX_MESSAGES = 10_000;
const MAX_TOPICS = 1_000;

/**
 * Notices messages that another bridge sends back to where a connection receives them, again and again. Bridges of
 * Brokergraph recognize such messages by their path, but other bridges drop the path.
 *
 * A message that comes back has the same payload, and the same topic or one with another prefix. A device that repeats
 * a value often looks alike, so a loop is reported, and stopped only if the configuration says so. Then an equal
 * message is forwarded once in WINDOW_MS while its topic is suspected. Payloads are compared by their CRC-32.
 */
export class ReturnedMessages {
  readonly #options: ReturnedMessagesOptions;
  readonly #forwarded = new Map<number, Forwarded>();
  /** By the last level of a topic, which no prefix changes: until when it is suspected. */
  readonly #suspected = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  #recent = 0;
  /** Number of messages of loops that came back. */
  count = 0;
  /** The loop that was noticed last. `null` if no message of a loop came back in the last WINDOW_MS. */
  loop: BridgeLoop | null = null;

  constructor(options: ReturnedMessagesOptions) {
    this.#options = options;
  }

  /** Notes that a message was received. Returns whether to forward it. */
  arrived(topic: string, payload: Buffer): boolean {
    const now = performance.now();
    const level = topic.slice(topic.lastIndexOf('/') + 1);
    const key = crc32(level, crc32(payload));
    const forwarded = this.#forwarded.get(key);
    if (forwarded === undefined || now - forwarded.at >= WINDOW_MS || !differByPrefix(forwarded.topic, topic)) {
      putLast(this.#forwarded, key, { topic, at: now, returns: 0, since: now }, MAX_MESSAGES);
      return true;
    }
    if (now - forwarded.since >= WINDOW_MS) Object.assign(forwarded, { since: now, returns: 0 });
    forwarded.returns += 1;
    forwarded.topic = topic;
    const isLoop = forwarded.returns >= SUSPICIOUS || (this.#suspected.get(level) ?? 0) > now;
    if (isLoop) {
      putLast(this.#suspected, level, now + SUSPECTED_MS, MAX_TOPICS);
      this.#returned(topic, (1_000 * forwarded.returns) / Math.max(1_000, now - forwarded.since));
      if (this.#options.stops) return false;
    }
    forwarded.at = now;
    putLast(this.#forwarded, key, forwarded, MAX_MESSAGES);
    return true;
  }

  close(): void {
    if (this.#timer) clearInterval(this.#timer);
  }

  #returned(topic: string, perSecond: number): void {
    this.count += 1;
    this.#recent += 1;
    if (this.loop !== null) return;
    const { stops, onLoop, onChange } = this.#options;
    this.loop = { topic, since: Date.now(), perSecond: rounded(perSecond), isStopped: stops };
    this.#timer = setInterval(() => this.#measure(), WINDOW_MS);
    this.#timer.unref();
    onLoop(this.loop);
    onChange();
  }

  #measure(): void {
    const perSecond = rounded((1_000 * this.#recent) / WINDOW_MS);
    this.loop = this.#recent === 0 || this.loop === null ? null : { ...this.loop, perSecond };
    this.#recent = 0;
    if (this.loop === null && this.#timer) clearInterval(this.#timer);
    this.#options.onChange();
  }
}

function differByPrefix(one: string, other: string): boolean {
  if (one.length > other.length) return differByPrefix(other, one);
  return other.endsWith(one);
}

function putLast<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  const [oldest] = map.keys();
  map.delete(oldest as Key);
}

const rounded = (perSecond: number): number => Math.round(perSecond * 10) / 10;
