import type { StreamEngineCore } from '../../../../src/data-plane/streams/engine/stream-engine-core.ts';
import type { ReplayRequest } from '../../../../src/data-plane/streams/model/stream-replay.ts';
import type { ReplayClock } from '../../../../src/data-plane/streams/replay/replay-clock.ts';
import { definition, openStore, reportOf, startEngine, stored } from '../engine/engine-parts.ts';
import { ScriptedSession } from '../engine/scripted-session.ts';

export const HOUR = 3_600_000;
export const START = 1_700_000_000_000;
export const ALL: ReplayRequest = {
  topic: 'again',
  from: null,
  to: null,
  limit: null,
  speed: 1,
  reverse: false,
};

/** Time that passes only as the test says. */
export class TestClock implements ReplayClock {
  #now = 0;
  #calls: { at: number; call: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, call: () => void): () => void {
    const entry = { at: this.#now + ms, call };
    this.#calls.push(entry);
    return () => {
      this.#calls = this.#calls.filter((other) => other !== entry);
    };
  }

  /** Milliseconds until the next call; null: there is none. */
  get next(): number | null {
    return this.#calls.length === 0 ? null : Math.min(...this.#calls.map(({ at }) => at)) - this.#now;
  }

  pass(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const due = this.#calls.filter(({ at }) => at <= end).sort((one, other) => one.at - other.at)[0];
      if (due === undefined) break;
      this.#now = Math.max(this.#now, due.at);
      this.#calls = this.#calls.filter((entry) => entry !== due);
      due.call();
    }
    this.#now = end;
  }

  /** Late, as timers are on a busy machine. */
  jump(ms: number): void {
    this.#now += ms;
    this.pass(0);
  }
}

/** A stream with messages "0", "1", … that were stored so many milliseconds after START. */
export async function recorded(offsets: readonly number[], ttl = 0) {
  let now = START;
  const store = openStore({ now: () => now });
  const log = store.log('a');
  log.setTtl(ttl);
  const commits = offsets.map((offset, index) => {
    now = START + offset;
    return stored(log, String(index));
  });
  await Promise.all(commits);
  const session = new ScriptedSession();
  const clock = new TestClock();
  const engine = startEngine(session, { store, clock });
  await engine.put('a', definition({ sourceTopic: 'in', process: false, persist: true, ttl }));
  const seen: string[] = [];
  let from = 0;
  /** What was published since it was asked last, with the time. */
  const news = () => {
    const payloads = session.published.slice(from).map(({ payload }) => payload);
    from = session.published.length;
    seen.push(...payloads);
    return payloads.join(' ');
  };
  const setNow = (ms: number) => {
    now = ms;
  };
  return { session, clock, engine, store, log, news, setNow };
}

export const replayOf = async (engine: StreamEngineCore) => (await reportOf(engine)).replay;
