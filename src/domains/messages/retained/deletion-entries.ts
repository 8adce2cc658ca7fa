import type { ServiceError } from '../../../platform/errors.ts';

export const DELETION_STATUSES = [
  'DELETED',
  'WOULD_DELETE',
  'REMAINS',
  'REFUSED',
  'UNKNOWN',
  'ACKNOWLEDGED',
  'NOT_FOUND',
] as const;
export type DeletionStatus = (typeof DELETION_STATUSES)[number];

/** FOUND: was retained at the last reading, and no deletion was sent since. */
type EntryState = 'FOUND' | 'SENT' | 'ACKNOWLEDGED' | 'REFUSED' | 'DELETED' | 'NOT_FOUND';

export interface DeletionEntry {
  state: EntryState;
  attempts: number;
  /** Number of the last reading that found the message. */
  seen: number;
  error: ServiceError | null;
}

export interface TopicResult {
  readonly topic: string;
  readonly status: DeletionStatus;
  readonly error: ServiceError | null;
}

export type DeletionCounts = Readonly<Record<DeletionStatus, number>>;

/** Bounds of one deletion: number of topics, and characters of their names. */
const MAX_TOPICS = 500_000;
const MAX_CHARACTERS = 32 * 1_048_576;
export const MAX_RESULTS = 1_000;
/** A message that a client publishes again, or that a restarted broker restores, is deleted again. */
const MAX_ATTEMPTS = 3;

/** The topics of one deletion and what is known about each. */
export class DeletionEntries {
  readonly #entries = new Map<string, DeletionEntry>();
  readonly #isDryRun: boolean;
  /** Topics that an earlier process has deleted, whose names are not known. */
  readonly #deletedBefore: number;
  #characters = 0;
  #reading = 0;
  isFull = false;

  constructor(isDryRun: boolean, deletedBefore: number) {
    this.#isDryRun = isDryRun;
    this.#deletedBefore = deletedBefore;
  }

  get total(): number {
    return this.#deletedBefore + this.#entries.size;
  }

  beginReading(): void {
    this.#reading += 1;
  }

  /** `isNew`: whether an unknown topic belongs to the deletion, too. */
  found(topic: string, isNew: boolean): void {
    const known = this.#entries.get(topic);
    if (known !== undefined) known.seen = this.#reading;
    else if (isNew) this.#add(topic, 'FOUND');
  }

  /** Topics that an earlier process may have deleted. */
  sent(topics: readonly string[]): void {
    for (const topic of topics) this.#add(topic, 'SENT');
  }

  isNotFound(topic: string): boolean {
    return this.#entries.get(topic)?.state === 'NOT_FOUND';
  }

  notFound(topics: readonly string[]): void {
    for (const topic of topics) if (!this.#entries.has(topic)) this.#add(topic, 'NOT_FOUND');
  }

  /**
   * Evaluates the readings since the number `from`. `isComplete`: whether a message that they did not find is deleted.
   * Returns whether messages remain that are to be deleted.
   */
  evaluate(from: number, isComplete: boolean): boolean {
    let isLeft = false;
    for (const entry of this.#entries.values()) {
      if (entry.state === 'NOT_FOUND') continue;
      const isRetained = entry.seen >= from;
      if (!isRetained && isComplete) entry.state = 'DELETED';
      else if (isRetained && entry.state !== 'REFUSED') entry.state = 'FOUND';
      isLeft ||= entry.state === 'FOUND' && entry.attempts < MAX_ATTEMPTS;
    }
    return isLeft;
  }

  get reading(): number {
    return this.#reading;
  }

  *toDelete(): Generator<readonly [string, DeletionEntry]> {
    for (const pair of this.#entries) if (pair[1].state === 'FOUND' && pair[1].attempts < MAX_ATTEMPTS) yield pair;
  }

  counts(): DeletionCounts {
    const counts = Object.fromEntries(DELETION_STATUSES.map((status) => [status, 0])) as Record<DeletionStatus, number>;
    counts.DELETED = this.#deletedBefore;
    for (const entry of this.#entries.values()) counts[this.#statusOf(entry)] += 1;
    return counts;
  }

  /** At most MAX_RESULTS. Topics that were not deleted come first. */
  results(): TopicResult[] {
    const results: TopicResult[] = [];
    for (const isDone of [false, true]) {
      for (const [topic, entry] of this.#entries) {
        if (results.length === MAX_RESULTS) return results;
        const status = this.#statusOf(entry);
        if ((status === 'DELETED' || status === 'WOULD_DELETE') === isDone)
          results.push({ topic, status, error: entry.error });
      }
    }
    return results;
  }

  #statusOf({ state }: DeletionEntry): DeletionStatus {
    if (state === 'SENT') return 'UNKNOWN';
    if (state !== 'FOUND') return state;
    return this.#isDryRun ? 'WOULD_DELETE' : 'REMAINS';
  }

  #add(topic: string, state: EntryState): void {
    if (this.#entries.size >= MAX_TOPICS || this.#characters + topic.length > MAX_CHARACTERS) {
      this.isFull = true;
      return;
    }
    this.#characters += topic.length;
    this.#entries.set(topic, { state, attempts: 0, seen: this.#reading, error: null });
  }
}
