import type { SysTopics } from '../../brokers/sys-topics.ts';

const LEVELS = ['broker', 'publish', 'messages', 'dropped'] as const;
const TOPIC = `$SYS/${LEVELS.join('/')}`;

/**
 * Number of messages that a broker dropped for all of its clients since a recording began, at the earliest since the
 * `$SYS` history begins. Mosquitto 2.0 publishes the value only when it grows. If other values were known when the
 * recording began but this one was not, the first value includes at least one newly dropped message.
 */
export class DroppedMessages {
  readonly #sys: Pick<SysTopics, 'valueOf' | 'history'>;
  #since: number | null = null;
  #first = 0;

  constructor(sys: Pick<SysTopics, 'valueOf' | 'history'>) {
    this.#sys = sys;
  }

  /** `since`: start of the recording in epoch milliseconds. Returns `null` if the broker does not report the number. */
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

  #at(time: number, now: number): number {
    let found: number | null = null;
    let isSilent = false;
    for (const { topics, date } of this.#sys.history()) {
      if (date > time && found !== null) break;
      let value: unknown = topics;
      for (const level of LEVELS)
        value = typeof value === 'object' && value !== null ? Reflect.get(value, level) : null;
      const count = numberOf(value);
      if (count === null) isSilent ||= date <= time;
      else found = isSilent && date > time ? previousOf(count) : count;
    }
    return found ?? (isSilent ? previousOf(now) : now);
  }
}

const previousOf = (grown: number) => Math.max(0, grown - 1);

function numberOf(text: unknown): number | null {
  return typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : null;
}
