import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { SlicedCalls } from '../../../platform/scheduling/sliced-task.ts';
import type { LiveResults } from '../live/live-results.ts';
import type { ResultText } from '../live/result-text.ts';
import { type ResultSink, SubscriptionWriter } from '../live/subscription-writer.ts';

/** Beyond this number of unsent bytes no further result is written, except for one. */
const HIGH_MARK = 65_536;
const SILENT_COMMENTS = 4;
const COMMENT = Buffer.from(':\n\n');
export const COMPLETE = 'event: complete\ndata:\n\n';

interface EventStreamOptions {
  readonly calls: SlicedCalls;
  /** Interval between comments in milliseconds. They keep proxies from closing a stream without events. */
  readonly keepAliveMs: number;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  readonly res: ServerResponse | null;
}

/**
 * Body of a response with the results of a subscription, which starts when the body is read. A client that receives
 * nothing while SILENT_COMMENTS comments are due is disconnected. With HTTP/1.0, the default of nginx, the stream ends
 * with its connection.
 */
export class EventStreamBody extends Readable implements ResultSink {
  readonly #writer: SubscriptionWriter;
  readonly #options: EventStreamOptions;
  #comments: NodeJS.Timeout | undefined;
  #silentComments = 0;
  #pushedBytes = 0;
  #sentBytes = 0;
  /** Not from `readableLength`: it includes the chunk for whose removal the stream calls `_read`, once. */
  #isWanted = false;
  #wake: (() => void) | null = null;

  constructor(results: LiveResults, options: EventStreamOptions) {
    super({ highWaterMark: HIGH_MARK });
    this.#options = options;
    this.#writer = new SubscriptionWriter(results, this, options.calls);
    if (options.signal.aborted) this.destroy();
    else options.signal.addEventListener('abort', () => this.destroy(), { once: true });
  }

  get isReady(): boolean {
    return this.#isWanted && !this.destroyed;
  }

  whenReady(wake: () => void): void {
    this.#wake = wake;
  }

  write(result: ResultText): void {
    this.#pushedBytes += result.event.length;
    this.#isWanted = this.push(result.event);
  }

  flush(): void {
    // Node writes all chunks of one event loop iteration together.
  }

  end(): void {
    clearInterval(this.#comments);
    this.push(COMPLETE);
    this.push(null);
  }

  override _read(): void {
    this.#isWanted = true;
    if (this.#comments === undefined) {
      this.#comments = setInterval(() => this.#comment(), this.#options.keepAliveMs);
      this.push(COMMENT);
      this.#writer.start();
    }
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    clearInterval(this.#comments);
    this.#writer.stop();
    callback(error);
  }

  #comment(): void {
    const { res } = this.#options;
    const unsentBytes = this.readableLength + (res?.writableLength ?? 0);
    const sentBytes = this.#pushedBytes - unsentBytes;
    this.#silentComments = unsentBytes === 0 || sentBytes > this.#sentBytes ? 0 : this.#silentComments + 1;
    this.#sentBytes = sentBytes;
    if (unsentBytes === 0) this.push(COMMENT);
    else if (this.#silentComments >= SILENT_COMMENTS) {
      // A response does not close with its body.
      res?.destroy();
      this.destroy();
    }
  }
}
