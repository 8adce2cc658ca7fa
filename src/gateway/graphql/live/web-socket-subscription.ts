import { OVER } from '../../live/live-source.ts';
import type { PublicError } from '../public-error.ts';
import type { LiveResults } from './live-results.ts';
import type { ResultText } from './result-text.ts';
import { binaryOf } from './result-text.ts';
import type { ResultSharing } from './shared-results.ts';
import { type ResultSink, SubscriptionWriter } from './subscription-writer.ts';
import type { WebSocketWriter } from './web-socket-writer.ts';

interface WebSocketSubscriptionOptions {
  readonly id: string;
  readonly results: LiveResults;
  readonly socketWriter: WebSocketWriter;
  readonly sharing: ResultSharing;
  /** Called once, when the client or the source ends the subscription. */
  readonly onEnd: (failure: PublicError | null) => void;
}

/**
 * One subscription on a WebSocket. For graphql-ws it is an async iterator without values that only ends: results are
 * written directly. It starts when graphql-ws starts to read.
 */
export class WebSocketSubscription implements AsyncIterableIterator<never>, ResultSink {
  readonly #socketWriter: WebSocketWriter;
  readonly #onEnd: WebSocketSubscriptionOptions['onEnd'];
  readonly #prefix: string;
  readonly #writer: SubscriptionWriter;
  readonly #done: Promise<IteratorReturnResult<undefined>>;
  #settle: (over: IteratorReturnResult<undefined>) => void = () => undefined;
  #hasStarted = false;
  #hasEnded = false;

  constructor({ id, results, socketWriter, sharing, onEnd }: WebSocketSubscriptionOptions) {
    this.#socketWriter = socketWriter;
    this.#onEnd = onEnd;
    this.#prefix = binaryOf(`{"id":${JSON.stringify(id)},"type":"next","payload":`);
    this.#writer = new SubscriptionWriter(results, this, sharing.calls);
    this.#done = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  get isReady(): boolean {
    return this.#socketWriter.isReady;
  }

  whenReady(wake: () => void): void {
    this.#socketWriter.whenReady(wake);
  }

  write(result: ResultText): void {
    this.#socketWriter.next(this.#prefix, result);
  }

  flush(): void {
    this.#socketWriter.flush();
  }

  end(failure: PublicError | null): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#onEnd(failure);
    this.#settle(OVER);
  }

  next(): Promise<IteratorReturnResult<undefined>> {
    if (!this.#hasStarted && !this.#hasEnded) {
      this.#hasStarted = true;
      this.#writer.start();
    }
    return this.#done;
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#writer.stop();
    this.end(null);
    return OVER;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
