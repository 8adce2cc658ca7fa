import type { IdRange } from './log-message.ts';

/** What is stored of a log from one stretch of time; it expires at about the same time. Ids are epoch microseconds. */
export interface StoredPart {
  /** Length in seconds; 0: a week of messages that do not expire. */
  readonly width: number;
  readonly messages: number;
  readonly bytes: number;
  readonly first: number;
  readonly last: number;
}

export interface LogPart {
  readonly width: number;
  /** The first id that may belong to it. */
  readonly start: number;
  messages: number;
  bytes: number;
  /** Meaningless if there are no messages. */
  first: number;
  last: number;
  /** Messages that are not written yet. */
  waiting: number;
}

/** Parts that overlap: a ttl was changed, or messages of an earlier time were carried over. */
export interface Cluster extends IdRange {
  readonly widths: readonly number[];
}

/** A part is at most this share of the ttl long, but at least SHORTEST. */
const PARTS_OF_TTL = 4;
/** Seconds. */
const SHORTEST = 60;
const LONGEST = SHORTEST * 2 ** 20;
const OF_LASTING = 7 * 86_400;

/** How long the parts of messages with this ttl are, in seconds. `ttl` 0: never expires. */
export function widthOf(ttl: number): number {
  if (ttl === 0) return 0;
  let width = SHORTEST;
  while (2 * width * PARTS_OF_TTL <= ttl && width < LONGEST) width *= 2;
  return width;
}

/** In microseconds. */
export const lengthOf = (width: number): number => (width || OF_LASTING) * 1_000_000;

export const startOf = (width: number, id: number): number => Math.floor(id / lengthOf(width)) * lengthOf(width);

/** The parts of one log. Known in memory, so that neither a report nor a take-over reads the messages. */
export class LogParts {
  #all: LogPart[] = [];
  #current: LogPart | null = null;
  /** The id of the last message ever appended, which may be deleted. */
  lastId: number;

  constructor(stored: readonly StoredPart[], lastId: number) {
    this.#all = stored.map((part) => ({ ...part, start: startOf(part.width, part.first), waiting: 0 }));
    this.lastId = this.#all.reduce((max, { last }) => Math.max(max, last), lastId);
  }

  get bytes(): number {
    return this.#all.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  get messages(): number {
    return this.#all.reduce((sum, { messages }) => sum + messages, 0);
  }

  /** The ids of the first and of the last message; `null` if there is none. */
  get ends(): IdRange | null {
    const parts = this.#all.filter(({ messages }) => messages > 0);
    if (parts.length === 0) return null;
    return { from: Math.min(...parts.map(({ first }) => first)), to: Math.max(...parts.map(({ last }) => last)) };
  }

  /** The part of a new message with this id, which is higher than all others. */
  next(id: number, ttl: number): LogPart {
    this.lastId = id;
    return this.add(id, ttl);
  }

  /** The part of a message that is going to be written. */
  add(id: number, ttl: number): LogPart {
    const width = widthOf(ttl);
    const start = startOf(width, id);
    let part = this.#current;
    if (part?.width !== width || part.start !== start) {
      part = this.#all.find((each) => each.width === width && each.start === start) ?? null;
      if (part === null) {
        part = { width, start, messages: 0, bytes: 0, first: id, last: id, waiting: 0 };
        this.#all.push(part);
      }
      this.#current = part;
    }
    part.waiting += 1;
    return part;
  }

  /** The parts with messages in the range, in order of their first ids. */
  within({ from, to }: IdRange): LogPart[] {
    return this.#all
      .filter(({ messages, first, last }) => messages > 0 && first <= to && last >= from)
      .sort((one, other) => one.first - other.first);
  }

  /** The same, with those that overlap as one. */
  clusters(range: IdRange): Cluster[] {
    const clusters: { from: number; to: number; widths: number[] }[] = [];
    for (const { width, first, last } of this.within(range)) {
      const before = clusters.at(-1);
      if (before === undefined || first > before.to) clusters.push({ from: first, to: last, widths: [width] });
      else {
        before.to = Math.max(before.to, last);
        if (!before.widths.includes(width)) before.widths.push(width);
      }
    }
    return clusters;
  }

  /** A message of a log without ttl was deleted. */
  reduce(id: number, bytes: number): void {
    const part = this.#all.find(({ width, start }) => width === 0 && start === startOf(0, id));
    if (part === undefined) return;
    part.messages -= 1;
    part.bytes -= bytes;
  }

  /** Parts without messages that get no others. */
  get past(): LogPart[] {
    return this.#all.filter((part) => part !== this.#current && part.messages === 0 && part.waiting === 0);
  }

  /** Forgets the parts whose messages all have lower ids and are written, and returns their bytes. */
  forgetBefore(id: number): number {
    return this.#forget(({ last, waiting }) => last < id && waiting === 0);
  }

  /** Forgets a part without messages, unless some wait. */
  forgetEmpty(part: LogPart): void {
    this.#forget((each) => each === part && each.messages === 0 && each.waiting === 0);
  }

  /** What was stored is lost. Returns its bytes. */
  lose(): number {
    const { bytes } = this;
    for (const part of this.#all) Object.assign(part, { messages: 0, bytes: 0 });
    this.#forget(({ waiting }) => waiting === 0);
    return bytes;
  }

  #forget(isGone: (part: LogPart) => boolean): number {
    const gone = this.#all.filter(isGone);
    if (gone.length === 0) return 0;
    this.#all = this.#all.filter((part) => !gone.includes(part));
    if (this.#current !== null && gone.includes(this.#current)) this.#current = null;
    return gone.reduce((sum, { bytes }) => sum + bytes, 0);
  }
}
