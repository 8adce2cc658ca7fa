import type { ClientEventQueries, EventsEnd } from '../../../data-plane/history/client-events/client-events-module.ts';
import type {
  EventArrival,
  EventGap,
  FollowNote,
  StoredEvent,
} from '../../../data-plane/history/client-events/stored-events.ts';
import type { HistoryHandle } from '../../../data-plane/history/hosting/history-thread.ts';
import { LATE_EVENT_MS } from '../../../protocol/apis/clients/client-events.ts';

export type EventHistory = HistoryHandle<EventArrival, ClientEventQueries>;

type EndOfRecord = Pick<EventsEnd, 'at' | 'lastEvent' | 'lastRefusal'>;

/** Bytes of a row without its texts. */
const ROW_BYTES = 250;
const REFUSAL_BYTES = 1_500;

/**
 * Brokers report when something happened. Times further ahead of the clock, or longer ago, are wrong: on PostgreSQL
 * each of their days would become a partition, and those ahead would be the newest events for ever.
 */
const MAX_AHEAD_MS = 86_400_000;
const MAX_LATE_MS = 7 * 86_400_000;
/** A history that is too large loses its oldest twentieths, so a START is repeated several times in the stored time. */
const REPEATS = 4;
const MIN_REPEAT_MS = 60_000;
const MAX_REPEAT_MS = 86_400_000;

/** Writes the events of one broker to the history. What has a wrong time is left out. */
export class EventWriter {
  readonly #history: EventHistory;
  readonly #broker: string;
  readonly #follower: string;
  #end: Promise<EventsEnd | null> | null = null;
  /** The last START and when it was written; `null` after a STOP. */
  #started: { readonly log: string; readonly writtenAt: number } | null = null;

  /** @param follower identifies the part of this process that notes that it is alive */
  constructor(history: EventHistory, broker: string, follower: string) {
    this.#history = history;
    this.#broker = broker;
    this.#follower = follower;
  }

  /**
   * Where the record ended before the first call, which must come before anything is written; `null` if there is none.
   * Errors: BROKER_UNREACHABLE, those of the store.
   */
  end(): Promise<EventsEnd | null> {
    this.#end ??= this.#history.query('end', { broker: this.#broker }).catch((error: unknown) => {
      this.#end = null;
      throw error;
    });
    return this.#end;
  }

  event(event: Omit<StoredEvent, 'broker'>): void {
    if (isWrongTime(event.at)) return;
    const bytes = ROW_BYTES + (event.clientId?.length ?? 0) + (event.refusal === null ? 0 : REFUSAL_BYTES);
    this.#history.insert({ event: { ...event, broker: this.#broker } }, event.at, bytes);
  }

  gap(gap: Omit<EventGap, 'broker'>): void {
    if (isWrongTime(gap.at)) return;
    this.#history.insert({ gap: { ...gap, broker: this.#broker } }, gap.at, ROW_BYTES);
  }

  /**
   * States that the broker was not followed after a record until `at`. Events just before the end of the record may
   * have been noticed too late, and what is noticed just after its last ones may be the same.
   */
  notFollowed({ at: from, lastEvent, lastRefusal }: EndOfRecord, at: number): void {
    const until = Math.max(from, at, lastEvent + LATE_EVENT_MS, lastRefusal + LATE_EVENT_MS);
    this.gap({ from: from - LATE_EVENT_MS, at: until, reason: 'NOT_FOLLOWED', detail: null });
  }

  /** `at`: until when everything is written, in epoch milliseconds. Default: now. */
  note(state: FollowNote['state'], log: string, at = Date.now()): void {
    this.#started = state === 'START' ? { log, writtenAt: Date.now() } : null;
    const note = { at, broker: this.#broker, follower: this.#follower, state, log };
    this.#history.insert({ note }, note.at, ROW_BYTES);
  }

  /** Writes the last START again with a later time, before the history deletes it. `at`: as of `note`. */
  repeatStart(at: number): void {
    if (this.#started === null) return;
    const now = Date.now();
    const storedMs = now - (this.#history.oldest() ?? 0);
    const repeatMs = Math.max(MIN_REPEAT_MS, Math.min(MAX_REPEAT_MS, storedMs / REPEATS));
    if (now - this.#started.writtenAt >= repeatMs) this.note('START', this.#started.log, at);
  }
}

function isWrongTime(at: number): boolean {
  const now = Date.now();
  return at > now + MAX_AHEAD_MS || at < now - MAX_LATE_MS;
}
