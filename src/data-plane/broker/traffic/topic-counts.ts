import { LRUCache } from 'lru-cache';
import { entryLimit } from '../../../platform/limits/entry-limit.ts';
import {
  type LastPublisher,
  MAX_COUNTED_LEVELS,
  TOPIC_MEASURES,
  type TopicMeasure,
} from '../../../protocol/apis/clients/traffic-control.ts';
import { TopWindow } from './top-window.ts';

interface Tally {
  messages: number;
  bytes: number;
  publisher: string;
}

/** Topics that are counted exactly before they are passed on together, so that a message costs one look-up. */
const MAX_TALLIES = 2_000;
/** Longer topics are counted by their beginning. */
const MAX_TOPIC = 512;
/** Topics whose last publisher is remembered. The topic without messages for the longest time is dropped. */
const MAX_PUBLISHERS = 10_000;

/** What is published to topics, and to the topics below their first levels. */
export class TopicCounts {
  #tallies = new Map<string, Tally>();
  readonly #publishers = new LRUCache<string, LastPublisher>(entryLimit(MAX_PUBLISHERS));
  /** By number of levels; 0 for whole topics. */
  readonly #windows = Array.from({ length: MAX_COUNTED_LEVELS + 1 }, () => ({
    MESSAGES_IN: new TopWindow(),
    BYTES_IN: new TopWindow(),
  }));

  add(topic: string, bytes: number, publisher: string): void {
    const tally = this.#tallies.get(topic);
    if (tally !== undefined) {
      tally.messages += 1;
      tally.bytes += bytes;
      tally.publisher = publisher;
      return;
    }
    if (this.#tallies.size >= MAX_TALLIES) this.count();
    this.#tallies.set(topic, { messages: 1, bytes, publisher });
  }

  /** Passes on what was counted exactly. */
  count(): void {
    const at = Date.now();
    const tallies = this.#tallies;
    this.#tallies = new Map();
    for (const [topic, { messages, bytes, publisher }] of tallies) {
      const name = topic.slice(0, MAX_TOPIC);
      this.#publishers.set(name, { clientId: publisher, at });
      for (let levels = 0, end = -1; levels <= MAX_COUNTED_LEVELS; levels += 1) {
        if (levels > 0) end = name.indexOf('/', end + 1);
        const counted = levels === 0 || end < 0 ? name : name.slice(0, end);
        this.#windows[levels]?.MESSAGES_IN.add(counted, messages);
        this.#windows[levels]?.BYTES_IN.add(counted, bytes);
        // All levels are counted already.
        if (levels > 0 && end < 0) break;
      }
    }
  }

  step(): void {
    this.count();
    for (const windows of this.#windows) for (const measure of TOPIC_MEASURES) windows[measure].step();
  }

  window(by: TopicMeasure, levels: number): TopWindow | null {
    return this.#windows[levels]?.[by] ?? null;
  }

  lastPublisher(topic: string): LastPublisher | null {
    const tally = this.#tallies.get(topic);
    if (tally !== undefined) return { clientId: tally.publisher, at: Date.now() };
    return this.#publishers.get(topic.slice(0, MAX_TOPIC)) ?? null;
  }
}
