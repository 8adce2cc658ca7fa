import type { SysTopics } from '../../brokers/sys-topics.ts';

const LEVELS = ['broker', 'publish', 'messages', 'dropped'] as const;
const TOPIC = `$SYS/${LEVELS.join('/')}`;

/**
 * How many messages a broker dropped since a recording began, by its own count: for all of its clients together. A recording that
 * began before this service looked counts from the earliest number that is known. Mosquitto 2.0 tells the number only when it grows, and
 * keeps it for a minute: where it told all else when the recording began, the first number that comes is of at least one message more.
 */
export class DroppedMessages {
  readonly #sys: Pick<SysTopics, 'valueOf' | 'history'>;
  #since: number | null = null;
  #first = 0;

  constructor(sys: Pick<SysTopics, 'valueOf' | 'history'>) {
    this.#sys = sys;
  }

  /** `since`: when the recording began, epoch milliseconds. Null: the broker does not tell. */
  since(since: number | null): number | null {
    const now = numberOf(this.#sys.valueOf(TOPIC));
    if (now === null || since === null) return null;
    if (since !== this.#since) {
      this.#since = since;
      this.#first = this.#at(since, now);
    }
    // The broker was restarted.
    if (now < this.#first) this.#first = 0;
    return now - this.#first;
  }

  /** `now`: a number that may not be in the history yet. */
  #at(moment: number, now: number): number {
    let found: number | null = null;
    let isSilent = false;
    for (const { topics, date } of this.#sys.history()) {
      if (date > moment && found !== null) break;
      let value: unknown = topics;
      for (const level of LEVELS)
        value = typeof value === 'object' && value !== null ? Reflect.get(value, level) : null;
      const told = numberOf(value);
      if (told === null) isSilent ||= date <= moment;
      else found = isSilent && date > moment ? beforeIt(told) : told;
    }
    return found ?? (isSilent ? beforeIt(now) : now);
  }
}

const beforeIt = (grown: number) => Math.max(0, grown - 1);

function numberOf(text: unknown): number | null {
  return typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : null;
}
