import type { RecordedTopic } from '../../../src/data-plane/topic-tree/model/topic-recorder.ts';

/** A message that the recorder received between `sent` and `settled` (epoch milliseconds, Infinity if unknown). */
export interface Use {
  readonly sent: number;
  settled: number;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly payload: Buffer;
}

/**
 * Tolerances: recorded times may differ by a quarter of a second, and more if the process of the recorder was busy. A
 * topic expires up to two seconds early or late.
 */
const EARLY_MS = 600;
const LATE_MS = 260;
const TTL_MS = 2_000;

/**
 * The expected topics for any time span of a request. While messages are in flight, the exact time of their receipt is
 * unknown, but its bounds and the order for each topic are known.
 */
export class TrueTopics {
  readonly payloadLimit: number;
  readonly #uses = new Map<string, Use[]>();
  #ttlMs: number;
  /** When the TTL was changed: before and after. */
  #changed = { from: 0, to: 0 };

  constructor(ttlSeconds: number, payloadLimit: number) {
    this.#ttlMs = ttlSeconds * 1_000;
    this.payloadLimit = payloadLimit;
  }

  get topics(): readonly string[] {
    return [...this.#uses.keys()];
  }

  add(topic: string, use: Use): void {
    const uses = this.#uses.get(topic);
    if (uses) uses.push(use);
    else this.#uses.set(topic, [use]);
  }

  /** Once, and only to a shorter one. */
  async changeTtl(ttlSeconds: number, change: () => Promise<void>): Promise<void> {
    this.#changed = { from: Date.now(), to: Number.POSITIVE_INFINITY };
    this.#ttlMs = ttlSeconds * 1_000;
    await change();
    this.#changed.to = Date.now();
  }

  /** It was listed in each moment of this span. */
  wasThere(topic: string, from: number, to: number): boolean {
    let sure = from;
    for (const use of this.#uses.get(topic) ?? []) {
      if (use.settled <= sure) sure = Math.max(sure, this.#earliestEnd(use));
    }
    return sure > from && sure >= to;
  }

  /** It may have been listed at some moment of this span. */
  mayHaveBeen(topic: string, from: number, to: number): boolean {
    return (this.#uses.get(topic) ?? []).some((use) => use.sent <= to && this.#latestEnd(use) >= from);
  }

  /** Uses that a recorder asked at `from` has counted for sure, of those that it may have counted until `to`. */
  usesBetween(topic: string, from: number, to: number): { readonly sure: number; readonly possible: number } {
    const uses = this.#uses.get(topic) ?? [];
    return {
      sure: uses.filter(({ settled }) => settled <= from).length,
      possible: uses.filter(({ sent }) => sent <= to).length,
    };
  }

  /** Uses since then that are settled. */
  usedSince(topic: string, since: number): number {
    return (this.#uses.get(topic) ?? []).filter(({ sent }) => sent >= since).length;
  }

  /** What is wrong with a record that was answered in this span; null: nothing. */
  problemOf(record: RecordedTopic, from: number, to: number): string | null {
    if (!this.mayHaveBeen(record.topic, from, to)) return 'must not be there';
    const uses = this.#uses.get(record.topic) ?? [];
    const { sure, possible } = this.usesBetween(record.topic, from, to);
    const problems: string[] = [];
    for (const start of this.#starts(uses)) {
      const index = start + record.messages - 1;
      if (index >= possible || index < start)
        problems.push(`${record.messages} messages of at most ${possible - start}`);
      else if (index < sure - 1) problems.push(`${record.messages} messages of at least ${sure - start}`);
      else {
        const problem = this.#differs(record, uses[start] as Use, uses[index] as Use);
        if (problem === null) return null;
        problems.push(problem);
      }
    }
    return problems.join(' or ');
  }

  #differs({ firstSeen, lastSeen, qos, retain, payload }: RecordedTopic, first: Use, last: Use): string | null {
    if (!isWithin(firstSeen, first)) return `first seen ${firstSeen}, not ${first.sent} to ${first.settled}`;
    if (!isWithin(lastSeen, last)) return `last seen ${lastSeen}, not ${last.sent} to ${last.settled}`;
    if (qos !== last.qos) return `QoS ${qos}, not ${last.qos}`;
    if (retain !== last.retain) return `retain ${retain}, not ${last.retain}`;
    const kept = last.payload.subarray(0, this.payloadLimit).toString('base64');
    if (payload?.data !== kept) return `payload ${payload?.data}, not ${kept}`;
    return payload.bytes === last.payload.length
      ? null
      : `payload of ${payload.bytes} bytes, not ${last.payload.length}`;
  }

  /** The uses with which a topic may have been listed again for the last time. */
  #starts(uses: readonly Use[]): number[] {
    let starts = [0];
    for (let index = 1; index < uses.length; index += 1) {
      const [before, use] = [uses[index - 1] as Use, uses[index] as Use];
      if (use.sent > this.#latestEnd(before)) starts = [index];
      else if (use.settled >= this.#earliestEnd(before)) starts.push(index);
    }
    return starts;
  }

  #earliestEnd({ sent }: Use): number {
    return Math.max(sent + this.#ttlMs - TTL_MS, this.#changed.from);
  }

  #latestEnd({ settled }: Use): number {
    return Math.max(settled + this.#ttlMs, this.#changed.to) + TTL_MS;
  }
}

const isWithin = (time: number, { sent, settled }: Use): boolean =>
  time >= sent - EARLY_MS && time <= settled + LATE_MS;
