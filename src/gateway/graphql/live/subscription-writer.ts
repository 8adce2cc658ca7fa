import type { SlicedCalls } from '../../../platform/scheduling/sliced-task.ts';
import type { PublicError } from '../public-error.ts';
import type { LiveResults } from './live-results.ts';
import type { ResultText } from './result-text.ts';

export interface ResultSink {
  readonly isReady: boolean;
  /** Calls `wake` once when the sink is ready again, in the order of the calls; not if it closes before. */
  whenReady(wake: () => void): void;
  write(result: ResultText): void;
  flush(): void;
  /** No further result follows. `failure` is the error in the last result, `null` if there is none. */
  end(failure: PublicError | null): void;
}

const MAX_RUN = 64;
/** Maximum time of these results in milliseconds: each part of a large snapshot takes several. */
const MAX_RUN_MS = 10;

/** Writes results while the sink is ready. Other events wait in the bounded history of the source. */
export class SubscriptionWriter {
  readonly #results: LiveResults;
  readonly #sink: ResultSink;
  readonly #calls: SlicedCalls;
  #hasStopped = false;

  constructor(results: LiveResults, sink: ResultSink, calls: SlicedCalls) {
    this.#results = results;
    this.#sink = sink;
    this.#calls = calls;
  }

  start(): void {
    this.#results.onRevoked = this.#run;
    this.#run();
  }

  stop(): void {
    this.#hasStopped = true;
    this.#results.end();
  }

  readonly #run = (): void => {
    this.#write();
    this.#sink.flush();
  };

  #write(): void {
    const results = this.#results;
    let until = Number.POSITIVE_INFINITY;
    for (let written = 0; !this.#hasStopped; written++) {
      if (!this.#sink.isReady && !results.isRevoked) {
        this.#sink.whenReady(this.#run);
        return;
      }
      // Usually there is one result: then the clock is not read.
      if (written === 2) until = performance.now() + MAX_RUN_MS;
      else if (written === MAX_RUN || (written > 2 && performance.now() > until)) {
        this.#calls.add(this.#run);
        return;
      }
      const result = results.take();
      if (result !== null) {
        this.#sink.write(result);
      } else if (results.isOver) {
        this.#hasStopped = true;
        this.#sink.flush();
        this.#sink.end(results.failure);
      } else {
        results.wait(this.#run);
        return;
      }
    }
  }
}
