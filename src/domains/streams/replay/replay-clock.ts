import type { Stop } from '../../../protocol/mqtt/broker-session.ts';

/** The time that replays go by. */
export interface ReplayClock {
  /** Milliseconds that never jump. */
  now(): number;
  /** Calls once, at least so many milliseconds later or earlier than that where it is a long time; 0: in another turn of the event loop. */
  after(ms: number, call: () => void): Stop;
}

/** Longer ones Node ends at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const REPLAY_CLOCK: ReplayClock = {
  now: () => performance.now(),
  after(ms, call) {
    if (ms <= 0) {
      const immediate = setImmediate(call);
      return () => clearImmediate(immediate);
    }
    const timer = setTimeout(call, Math.min(Math.ceil(ms), MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
};
