import type { LevelPage, TopicChanges, TopicPage, TopicQuestions } from '../model/topic-recorder.ts';

type Answer<Type extends keyof TopicQuestions> = TopicQuestions[Type]['answer'];

type Shortened = { readonly [Type in keyof TopicQuestions]: (answer: Answer<Type>, bytes: number) => Answer<Type> };

/** Bytes of the answers to one request, about: while they are written a broker does nothing else. */
const REQUEST_BYTES = 1_000_000;
/** Of an entry of a list, about. */
const ENTRY_BYTES = 250;
/** Beyond this even what cannot be shortened is refused. */
const MOST_BYTES = 16_000_000;

/**
 * What the answers to one request over MQTT may take together: they travel in one packet, however many commands it had. A list ends
 * earlier, and says so by its own means.
 */
export class AnswerRoom {
  /** For each answer. */
  readonly bytesEach: number;
  #left = MOST_BYTES;

  constructor(commands: number) {
    this.bytesEach = Math.max(1, Math.floor(REQUEST_BYTES / Math.max(1, commands)));
  }

  /** No more entries than may have room: what is found and not told is found in vain. */
  firstOf(wanted: number): number {
    return Math.min(wanted, Math.max(1, Math.floor(this.bytesEach / ENTRY_BYTES)));
  }

  get isFull(): boolean {
    return this.#left <= 0;
  }

  take(answer: unknown): void {
    this.#left -= bytesOf(answer);
  }
}

/** As JSON. */
export const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value ?? null));

/** Where there is something to tell, at least one is told: whoever pages through a list comes to its end. */
export const shortened: Shortened = {
  status: (status) => status,
  topic: (topic) => topic,
  find: (page: TopicPage, bytes) => {
    const topics = page.topics.slice(0, Math.max(1, fittingCount(page.topics, bytes)));
    return { ...page, topics, hasMore: page.hasMore || topics.length < page.topics.length };
  },
  levels: (page: LevelPage, bytes) => {
    const levels = page.levels.slice(0, Math.max(1, fittingCount(page.levels, bytes)));
    return { ...page, levels, hasMore: page.hasMore || levels.length < page.levels.length };
  },
  changes: (changes: TopicChanges, bytes) => {
    const third = bytes / 3;
    const added = changes.added.slice(0, fittingCount(changes.added, third));
    const changed = changes.changed.slice(0, fittingCount(changes.changed, third));
    const expired = changes.expired.slice(0, fittingCount(changes.expired, third));
    return {
      ...changes,
      added,
      changed,
      expired,
      addedLeftOut: changes.addedLeftOut + changes.added.length - added.length,
      changedLeftOut: changes.changedLeftOut + changes.changed.length - changed.length,
      expiredLeftOut: changes.expiredLeftOut + changes.expired.length - expired.length,
    };
  },
};

function fittingCount(items: readonly unknown[], bytes: number): number {
  let left = bytes;
  const end = items.findIndex((item) => {
    left -= bytesOf(item);
    return left < 0;
  });
  return end === -1 ? items.length : end;
}
