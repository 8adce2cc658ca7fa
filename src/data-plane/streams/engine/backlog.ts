import type { StreamSession } from '../model/stream-session.ts';

/** Maximum number of messages of all streams of a broker that wait for an acknowledgement or for the disk. */
const MAX_MESSAGES = 4_096;
const MAX_BYTES = 16 * 1024 * 1024;
/** Reading resumes when the backlog is below this share of the limits, so that it does not toggle with each message. */
const RESUME_SHARE = 0.5;

/**
 * Counts the messages that were received and are not finished yet. Above the limits the engine stops reading from the
 * broker, which then queues the messages or throttles its publishers. Nothing is dropped here.
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

  drained(): Promise<void> {
    if (this.#messages === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenEmpty = resolve;
    });
  }
}
