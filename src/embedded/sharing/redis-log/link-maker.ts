import { setTimeout as delay } from 'node:timers/promises';
import { retryDelay } from '../../../mqtt/retry-delay.ts';
import { RedisLink } from './redis-link.ts';

/** A link that lasted so long was a good one. */
const STEADY_MS = 2_000;

/** Makes one link after the other, with pauses that grow while they do not last. */
export class LinkMaker {
  readonly #url: string;
  readonly #clusterId: string;
  readonly #answerMs: number;
  readonly #onProblem: (problem: string) => void;
  #attempt = 0;
  #firstAt = 0;
  #madeAt = 0;
  #nobodyListens = false;

  /** Throws a TypeError for a URL that is none. */
  constructor(url: string, clusterId: string, answerMs: number, onProblem: (problem: string) => void) {
    requireRedisUrl(url);
    this.#url = url;
    this.#clusterId = clusterId;
    this.#answerMs = answerMs;
    this.#onProblem = onProblem;
  }

  /** Resolves once Redis is there. Rejects only with the reason of the signal. */
  async next(signal: AbortSignal): Promise<RedisLink> {
    if (performance.now() - this.#madeAt > STEADY_MS) this.#attempt = 0;
    if (this.#attempt === 0) this.#firstAt = performance.now();
    for (;;) {
      signal.throwIfAborted();
      if (this.#attempt > 0) await delay(this.#pause(), undefined, { signal });
      this.#attempt += 1;
      try {
        const link = await RedisLink.open(this.#url, this.#clusterId, this.#answerMs);
        this.#madeAt = performance.now();
        return link;
      } catch (error) {
        this.#nobodyListens = error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED';
        this.#onProblem(`Redis cannot be reached: ${reasonOf(error)}`);
      }
    }
  }

  #pause(): number {
    const downFor = performance.now() - this.#firstAt;
    return retryDelay(this.#attempt - 1, downFor, { nobodyListens: this.#nobodyListens });
  }
}

/** Throws a TypeError that does not tell the URL, which may have a password. */
export function requireRedisUrl(url: string): void {
  const protocol = URL.canParse(url) ? new URL(url).protocol : '';
  if (protocol !== 'redis:' && protocol !== 'rediss:') {
    throw new TypeError('the address of Redis has to be a URL that begins with redis:// or rediss://');
  }
}

export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Several addresses of one name, each with its own error.
  if (error instanceof AggregateError && error.message === '') return error.errors.map(reasonOf).join(', ');
  return error.message;
}
