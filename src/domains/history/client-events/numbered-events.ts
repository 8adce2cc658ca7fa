import {
  type ClientEvent,
  type ClientEventPage,
  LATE_EVENT_MS,
  listClientEvents,
} from '../../../protocol/apis/clients/client-events.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { EventWriter } from './event-writer.ts';

interface NumberedEventsOptions {
  readonly controls: ControlCaller;
  readonly writer: EventWriter;
  /** Whether a client id is of a connection of this service, which has no events. */
  readonly isOwn: (clientId: string) => boolean;
}

/**
 * Writes the numbered events of a provider. Their numbers are their ids, so that events that are read again, by this
 * process or the next one, are stored once.
 */
export class NumberedEvents {
  readonly #options: NumberedEventsOptions;
  #log: string | null = null;
  /** Number and time of the last event that was written. */
  #last = 0;
  #lastEvent = 0;
  #completeUntil = Date.now();
  #lateMs = 0;
  /** Events of another log until then, in the time of the broker, may have been written by the previous process. */
  #writtenUntil = 0;

  constructor(options: NumberedEventsOptions) {
    this.#options = options;
  }

  /** `null` until the first reading. */
  get log(): string | null {
    return this.#log;
  }

  /** All events until then were written, in epoch milliseconds. */
  get completeUntil(): number {
    return this.#completeUntil;
  }

  /** By how much more than LATE_EVENT_MS events were late at the last reading. */
  get lateMs(): number {
    return this.#lateMs;
  }

  /**
   * Writes what is new. Returns `false` if the provider has no numbered events. Errors: as `ControlCaller`, and those
   * of the store.
   */
  async read(): Promise<boolean> {
    for (;;) {
      const readAt = Date.now();
      const page = await listClientEvents(this.#options.controls, this.#last);
      if (page === null) return false;
      if (page.log !== this.#log) {
        await this.#begin(page);
        continue;
      }
      this.#write(page);
      if (this.#last < page.sequence && page.events.length > 0) continue;
      this.#lateMs = page.lateMs ?? 0;
      this.#completeUntil = Math.max(this.#completeUntil, readAt - this.#lateMs);
      return true;
    }
  }

  /** Continues with another log from its first event on. */
  async #begin({ log, since }: ClientEventPage): Promise<void> {
    const { writer } = this.#options;
    const previous =
      this.#log === null
        ? await writer.end()
        : { at: this.#completeUntil, log: this.#log, lastEvent: this.#lastEvent, lastRefusal: 0 };
    this.#log = log;
    const isOther = previous !== null && previous.log !== log;
    // Two processes that follow the same broker notice an event at different times.
    this.#writtenUntil = isOther ? previous.lastEvent + LATE_EVENT_MS : 0;
    if (isOther) writer.notFollowed(previous, since);
    this.#completeUntil = previous?.at ?? Date.now();
    this.#last = 0;
  }

  #write({ first, sequence, events }: ClientEventPage): void {
    const { writer } = this.#options;
    const missing = first - this.#last - 1;
    const at = events[0]?.at ?? Date.now();
    // Of a log that is read from its beginning, the missing events may be stored.
    if (missing > 0 && (this.#last > 0 || at > this.#completeUntil)) {
      const detail = `At most ${missing} events were dropped before they were read.`;
      writer.gap({ from: Math.min(this.#completeUntil, at), at, reason: 'OVERFLOW', detail });
    }
    for (const [index, event] of events.entries()) this.#one(event, first + index);
    this.#last = events.length === 0 ? sequence : first + events.length - 1;
  }

  #one({ kind, from, ...event }: ClientEvent, id: number): void {
    const { writer, isOwn } = this.#options;
    this.#lastEvent = event.at;
    if (event.clientId !== null && isOwn(event.clientId)) return;
    if (kind === 'GAP')
      writer.gap({ from: from ?? this.#completeUntil, at: event.at, reason: 'LOG_INCOMPLETE', detail: event.detail });
    else if (event.at > this.#writtenUntil) writer.event({ ...event, kind, id, refusal: null, count: 1 });
  }
}
