import type { StreamSession } from '../model/stream-session.ts';

/** Messages of all streams of a broker that are published and not yet taken, or appended and not yet on disk. */
const MAX_MESSAGES = 4_096;
/** What they may weigh together, in bytes; one message alone may weigh more. */
const MAX_BYTES = 16 * 1024 * 1024;
/** Reading goes on when so much of the bounds is free again, so that it does not change with each message. */
const RESUME_SHARE = 0.5;

/**
 * What came in and is not worked off yet. Beyond its bounds nothing more is read from the broker, which then keeps the messages or
 * stops its publishers; nothing is dropped here.
 */
export class Backlog {
  readonly #session: Pick<StreamSession, 'pause' | 'resume'>;
  #messages = 0;
  #bytes = 0;
  #isPaused = false;
  #whenEmpty: (() => void) | null = null;

  constructor(session: Pick<StreamSession, 'pause' | 'resume'>) {
    this.#session = session;
  }

  begin(bytes: number): void {
    this.#messages += 1;
    this.#bytes += bytes;
    if (this.#isPaused || (this.#messages < MAX_MESSAGES && this.#bytes < MAX_BYTES)) return;
    this.#isPaused = true;
    this.#session.pause();
  }

  end(bytes: number): void {
    this.#messages -= 1;
    this.#bytes -= bytes;
    if (this.#messages === 0) this.#whenEmpty?.();
    if (!this.#isPaused) return;
    if (this.#messages > MAX_MESSAGES * RESUME_SHARE || this.#bytes > MAX_BYTES * RESUME_SHARE) return;
    this.#isPaused = false;
    this.#session.resume();
  }

  /** Resolves when all that came in is worked off. */
  drained(): Promise<void> {
    if (this.#messages === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenEmpty = resolve;
    });
  }
}
