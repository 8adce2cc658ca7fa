import type { Stop } from '../../../protocol/mqtt/broker-session.ts';

export interface ReplayClock {
  now(): number;
  /** Calls `call` once after `ms` milliseconds, at most MAX_TIMER_MS. 0: in the next event loop turn. */
  after(ms: number, call: () => void): Stop;
}

/** Node.js runs a timer with a longer delay after 1 ms. */
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
