import { filterMatches } from '../../../protocol/mqtt/filter-match.ts';
import { isExpired, outgoing } from './message-properties.ts';
import { rangesOf, type TopicRange } from './retained-range.ts';
import { packetOf, type RetainedPacket, type RetainedRows } from './retained-rows.ts';

/** A message in memory. `sequence` is the order in which messages are stored. */
export interface SystemMessage {
  readonly packet: RetainedPacket;
  readonly sequence: number;
}

export interface RetainedSource {
  readonly rows: RetainedRows;
  readonly system: ReadonlyMap<string, SystemMessage>;
  /** Makes everything readable that was stored until now. */
  flush(): void;
  expire(topic: string): void;
}

interface RetainedMatch {
  readonly packet: RetainedPacket;
  /** Empty if the snapshot has all messages. */
  readonly filter: string;
}

interface Reading {
  readonly matches: readonly RetainedMatch[];
  readonly isDone: boolean;
  /** Whether `take` has refused the next message. */
  readonly isBlocked: boolean;
}

/** Limits of one reading. A larger message is read alone. */
export interface ReadingLimits {
  readonly messages: number;
  readonly bytes: number;
  /** Time of `performance.now()`. */
  readonly end?: number;
  /** Returns what is used of a message on disk. `null`: nothing more is read; the next reading begins with it. */
  readonly take?: (packet: RetainedPacket, sequence: number) => RetainedPacket | null;
}

/** Characters of topics that are compared between two looks at the clock, which takes about 0.1 ms. */
const CLOCK_AFTER = 32_768;
/** Cost of comparing one topic, and of reading one message, in characters. */
const TOPIC_COST = 32;
const READING_COST = 1_000;

const EVERYTHING: TopicRange = { from: '', to: null, filters: [''], isDense: true };

/**
 * The retained messages of one moment that match topic filters, in the order of their topics. A message that is
 * replaced or deleted later is left out. Between two readings only the position is in memory.
 */
export class RetainedSnapshot {
  readonly #source: RetainedSource;
  readonly #ranges: readonly TopicRange[];
  readonly #filters: readonly string[] | null;
  readonly #sequence: number;
  readonly #system: SystemMessage[];
  #range = 0;
  /** The last topic that was read in the range; `null`: none. */
  #after: string | null = null;
  #isStarted = false;
  #limits: ReadingLimits = { messages: 0, bytes: 0 };
  #matches: RetainedMatch[] = [];
  #bytes = 0;
  #work = 0;
  #isOver = false;
  #isBlocked = false;

  /** `filters`: `null` for all messages. `sequence`: that of the last message. */
  constructor(source: RetainedSource, filters: readonly string[] | null, sequence: number) {
    this.#source = source;
    this.#filters = filters;
    this.#ranges = filters === null ? [EVERYTHING] : rangesOf(filters);
    this.#sequence = sequence;
    const hasSystem = filters === null || filters.some((filter) => filter.startsWith('$SYS/'));
    this.#system = hasSystem ? [...source.system.values()].reverse() : [];
  }

  /** Reads the next messages, with their remaining expiry interval; a message once for each filter that matches. */
  read(limits: ReadingLimits): Reading {
    this.#limits = limits;
    this.#matches = [];
    this.#bytes = 0;
    this.#work = 0;
    this.#isOver = false;
    this.#isBlocked = false;
    if (!this.#isStarted) this.#source.flush();
    this.#isStarted = true;
    while (!this.#isOver && this.#system.length > 0) this.#readSystem();
    while (!this.#isOver && this.#range < this.#ranges.length) this.#readRange();
    const isDone = this.#system.length === 0 && this.#range === this.#ranges.length;
    return { matches: this.#sendable(), isDone, isBlocked: this.#isBlocked };
  }

  #readSystem(): void {
    const message = this.#system.pop();
    if (!message) return;
    const { packet, sequence } = message;
    if (this.#source.system.get(packet.topic) !== message) return;
    this.#work += packet.topic.length;
    if (sequence <= this.#sequence) this.#add(() => packet, packet.topic, null, this.#filters ?? ['']);
    else this.#charge(TOPIC_COST);
  }

  #readRange(): void {
    const range = this.#ranges[this.#range];
    if (!range) return;
    const isEnd = range.isDense ? this.#readMessages(range) : this.#readTopics(range);
    this.#charge(TOPIC_COST);
    if (!isEnd) return;
    this.#range += 1;
    this.#after = null;
  }

  /** Returns whether the end of the range is reached. */
  #readMessages(range: TopicRange): boolean {
    let isEnd = true;
    this.#source.rows.each(range, this.#after, (row) => {
      const { topic, sequence } = row;
      if (sequence <= this.#sequence) this.#add(() => packetOf(row), topic, sequence, range.filters);
      if (!this.#isBlocked) this.#after = topic;
      this.#charge(READING_COST);
      isEnd = !this.#isOver;
      return isEnd;
    });
    return isEnd;
  }

  /** The same, reading only the messages that match. */
  #readTopics(range: TopicRange): boolean {
    const { rows } = this.#source;
    const topics = rows.topics(range, this.#after);
    for (const { topic, sequence } of topics) {
      if (sequence <= this.#sequence) this.#add(() => rows.get(topic), topic, sequence, range.filters);
      if (!this.#isBlocked) this.#after = topic;
      this.#charge(TOPIC_COST);
      if (this.#isOver) return false;
    }
    return topics.length === 0;
  }

  /** `sequence`: `null` for a message in memory. */
  #add(
    read: () => RetainedPacket | undefined,
    topic: string,
    sequence: number | null,
    filters: readonly string[],
  ): void {
    let packet: RetainedPacket | null | undefined;
    for (const filter of filters) {
      this.#work += topic.length;
      if (filter !== '' && !filterMatches(filter, topic)) continue;
      packet ??= this.#taken(read(), sequence);
      if (!packet) return;
      this.#matches.push({ packet, filter });
      this.#bytes += topic.length + packet.payload.length;
    }
  }

  #taken(packet: RetainedPacket | undefined, sequence: number | null): RetainedPacket | null {
    const { take } = this.#limits;
    if (!packet || !take || sequence === null) return packet ?? null;
    const taken = take(packet, sequence);
    if (taken === null) {
      this.#isBlocked = true;
      this.#isOver = true;
    }
    return taken;
  }

  #charge(work: number): void {
    this.#work += work;
    const { messages, bytes, end } = this.#limits;
    if (this.#matches.length >= messages || this.#bytes >= bytes) this.#isOver = true;
    if (end === undefined || this.#work < CLOCK_AFTER) return;
    this.#work = 0;
    if (performance.now() >= end) this.#isOver = true;
  }

  /** Expired messages are deleted here, because the journal cannot be written while rows are read. */
  #sendable(): RetainedMatch[] {
    const now = Date.now();
    return this.#matches.flatMap((match) => {
      const { packet, filter } = match;
      const { properties, topic } = packet;
      if (!properties) return match;
      if (!isExpired(properties, now)) return { packet: { ...packet, properties: outgoing(properties, now) }, filter };
      this.#source.expire(topic);
      return [];
    });
  }
}
