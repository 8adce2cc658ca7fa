import type { SlicedCalls } from '../../../platform/scheduling/sliced-task.ts';
import type { PublicError } from '../public-error.ts';
import type { LiveResults } from './live-results.ts';
import type { ResultText } from './result-text.ts';

/** Where the results of one subscription go. */
export interface Sink {
  /** False: enough waits to be sent. */
  readonly isReady: boolean;
  /** `wake` is called once, when it is ready again; never if it closes before. Several wait in the order in which they came. */
  whenReady(wake: () => void): void;
  write(result: ResultText): void;
  /** Nothing is written for now: what was may be held back until this is called. */
  flush(): void;
  /** Nothing comes any more. `failure`: what the last result told. */
  end(failure: PublicError | null): void;
}

/** Results written without a pause; then others have their turn. */
const MAX_RUN = 64;
/** The same in milliseconds: parts of a large snapshot take several each. */
const MAX_RUN_MS = 10;

/**
 * Moves results of one subscription to its sink, as long as that takes them. What the sink does not take stays where it is
 * bounded: in what the source keeps.
 */
export class Pump {
  readonly #results: LiveResults;
  readonly #sink: Sink;
  readonly #calls: SlicedCalls;
  #hasStopped = false;

  constructor(results: LiveResults, sink: Sink, calls: SlicedCalls) {
    this.#results = results;
    this.#sink = sink;
    this.#calls = calls;
  }

  start(): void {
    this.#results.onBroken = this.#run;
    this.#run();
  }

  /** The reader is gone. */
  stop(): void {
    this.#hasStopped = true;
    this.#results.end();
  }

  readonly #run = (): void => {
    this.#move();
    this.#sink.flush();
  };

  #move(): void {
    const results = this.#results;
    let until = Number.POSITIVE_INFINITY;
    for (let written = 0; !this.#hasStopped; written++) {
      if (!this.#sink.isReady && !results.isBroken) {
        this.#sink.whenReady(this.#run);
        return;
      }
      // Mostly there is one result and then none: that takes no look at the clock.
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
