import type { ControlCommand, ControlEvent } from '../../control/envelope.ts';
import { fieldOf } from '../../control/fields.ts';
import {
  type ClientEvent,
  type ClientEventPage,
  clientEventsChanged,
  MAX_EVENTS_PAGE,
  truncatedName,
} from './client-events.ts';

/** Maximum number of stored events of a broker. The oldest are dropped; readers find their numbers missing. */
const MAX_EVENTS = 20_000;
/** Events that are dropped together when there are more. */
const DROPPED_AT_ONCE = 2_000;
/** Events of this age are dropped when newer ones arrive. Readers take them within a second. */
const MAX_AGE_MS = 30_000;
/** Interval in which events are coalesced into one notification. */
const COALESCE_MS = 100;

const NOTHING = {
  from: null,
  clientId: null,
  username: null,
  address: null,
  listenerPort: null,
  protocol: null,
  reason: null,
  detail: null,
} as const;

/** The last events of the clients of one broker, for a reader that stores them. */
export class ClientEventLog {
  readonly #id = crypto.randomUUID();
  /** Since when all events are added, in epoch milliseconds. Default: the creation. */
  since = Date.now();
  readonly #emit: (event: ControlEvent) => void;
  /** Oldest first. */
  #events: ClientEvent[] = [];
  /** Number of the event before the first one. */
  #dropped = 0;
  #lastAt = 0;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(emit: (event: ControlEvent) => void) {
    this.#emit = emit;
  }

  get #sequence(): number {
    return this.#dropped + this.#events.length;
  }

  /** Absent fields are not known. Times do not decrease: the log of a Mosquitto has seconds only. */
  add(event: Pick<ClientEvent, 'kind' | 'at'> & Partial<ClientEvent>): void {
    if (this.#closed) return;
    this.#lastAt = Math.max(this.#lastAt, event.at);
    const { clientId = null, username = null } = event;
    this.#events.push({
      ...NOTHING,
      ...event,
      at: this.#lastAt,
      clientId: clientId && truncatedName(clientId),
      username: username && truncatedName(username),
    });
    if (this.#events.length > MAX_EVENTS) this.#drop(DROPPED_AT_ONCE);
    else if ((this.#events[DROPPED_AT_ONCE]?.at ?? event.at) < event.at - MAX_AGE_MS) this.#drop(DROPPED_AT_ONCE);
    this.#timer ??= setTimeout(() => this.#changed(), COALESCE_MS).unref();
  }

  /** Executes `listClientEvents`. */
  execute(command: ControlCommand): ClientEventPage {
    const after = fieldOf(command, 'after');
    const from = Math.max(typeof after === 'number' ? Math.trunc(after) : 0, this.#dropped) - this.#dropped;
    return {
      log: this.#id,
      since: this.since,
      first: this.#dropped + from + 1,
      sequence: this.#sequence,
      events: this.#events.slice(from, from + MAX_EVENTS_PAGE),
    };
  }

  close(): void {
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#events = [];
  }

  #drop(count: number): void {
    this.#events.splice(0, count);
    this.#dropped += count;
  }

  #changed(): void {
    this.#timer = null;
    this.#emit(clientEventsChanged(this.#id, this.#sequence));
  }
}
