import { OVER } from '../../live/live-source.ts';
import type { PublicError } from '../public-error.ts';
import type { LiveResults } from './live-results.ts';
import { Pump, type Sink } from './pump.ts';
import type { ResultText } from './result-text.ts';
import type { Sharing } from './shared-results.ts';
import { binaryOf } from './text-frame.ts';
import type { WebSocketOutlet } from './web-socket-outlet.ts';

export interface ChannelParts {
  /** Of the operation, as its client named it. */
  readonly id: string;
  readonly results: LiveResults;
  readonly outlet: WebSocketOutlet;
  readonly sharing: Sharing;
  /** Called once, whoever ends it. */
  readonly onEnd: (failure: PublicError | null) => void;
}

/**
 * One subscription on a WebSocket. The protocol library reads it as a stream of results and finds none, only the end: the
 * results go to the socket past it. It begins when the library begins to read, which it does not when the client is no longer
 * interested.
 */
export class WebSocketChannel implements AsyncIterableIterator<never>, Sink {
  readonly #outlet: WebSocketOutlet;
  readonly #onEnd: ChannelParts['onEnd'];
  readonly #prefix: string;
  readonly #pump: Pump;
  readonly #over: Promise<IteratorReturnResult<undefined>>;
  #settle: (over: IteratorReturnResult<undefined>) => void = () => undefined;
  #hasStarted = false;
  #hasEnded = false;

  constructor({ id, results, outlet, sharing, onEnd }: ChannelParts) {
    this.#outlet = outlet;
    this.#onEnd = onEnd;
    this.#prefix = binaryOf(`{"id":${JSON.stringify(id)},"type":"next","payload":`);
    this.#pump = new Pump(results, this, sharing.calls);
    this.#over = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  get isReady(): boolean {
    return this.#outlet.isReady;
  }

  whenReady(wake: () => void): void {
    this.#outlet.whenReady(wake);
  }

  /** Writes one result. */
  write(result: ResultText): void {
    this.#outlet.next(this.#prefix, result);
  }

  flush(): void {
    this.#outlet.flush();
  }

  end(failure: PublicError | null): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#onEnd(failure);
    this.#settle(OVER);
  }

  /** For the protocol library. */
  next(): Promise<IteratorReturnResult<undefined>> {
    if (!this.#hasStarted && !this.#hasEnded) {
      this.#hasStarted = true;
      this.#pump.start();
    }
    return this.#over;
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#pump.stop();
    this.end(null);
    return OVER;
  }

  async throw(error: unknown): Promise<never> {
    await this.return();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
