import type { Viewer } from '../../../platform/auth/viewer.ts';
import type { RequestContext } from '../../context.ts';
import { LiveSource } from '../../live/live-source.ts';
import { GuardedSource } from '../guarded.ts';
import type { SourceStream } from '../operation.ts';
import { type ErrorContext, type PublicError, publicError } from '../public-error.ts';
import { ResultText } from './result-text.ts';
import type { ResultSharing, SharedResults } from './shared-results.ts';

/**
 * The results of one subscription, read like a LiveSource. Subscriptions with the same permissions share results. When
 * the caller's permissions change, the subscription joins other results; when they end, the pending result is dropped.
 */
export class LiveResults {
  readonly #source: LiveSource<object>;
  readonly #guarded: GuardedSource<object> | null;
  readonly #stream: SourceStream;
  readonly #context: RequestContext;
  readonly #sharing: ResultSharing;
  readonly #errorContext: ErrorContext;
  #viewer: Viewer | null;
  #results: SharedResults;
  /** The next result, which was pending when `wait` was called. */
  #ready: ResultText | null = null;
  /** Identifies the pending result, so that a dropped one is recognised. */
  #pending: object | null = null;
  #wake: (() => void) | null = null;
  isOver = false;
  /** The error that ended the source, which the last result contains. */
  failure: PublicError | null = null;
  /** If the permissions have ended, the last result must be written even if the client does not read. */
  isRevoked: boolean;
  #onRevoked: (() => void) | null = null;

  constructor(stream: SourceStream, context: RequestContext, sharing: ResultSharing, errorContext: ErrorContext) {
    const { source } = stream;
    if (!(source instanceof LiveSource)) throw new TypeError('A subscription must return a LiveSource');
    this.#source = source;
    this.#guarded = this.#source instanceof GuardedSource ? this.#source : null;
    this.#stream = stream;
    this.#context = context;
    this.#sharing = sharing;
    this.#errorContext = errorContext;
    this.#viewer = this.#viewerNow();
    this.#results = sharing.join(stream, this.#viewer, context);
    const signal = this.#guarded?.signal;
    this.isRevoked = signal?.aborted ?? false;
    signal?.addEventListener('abort', () => this.#revoked(), { once: true });
  }

  /** Called in a later event loop iteration when the permissions end. */
  set onRevoked(callback: () => void) {
    this.#onRevoked = callback;
    if (this.isRevoked) this.#revoked();
  }

  take(): ResultText | null {
    if (this.isOver) return null;
    if (this.isRevoked) this.#drop();
    if (this.#ready !== null) {
      const ready = this.#ready;
      this.#ready = null;
      return ready;
    }
    if (this.#pending !== null) return null;
    let event: object | null;
    try {
      event = this.#source.take();
    } catch (error) {
      this.failure = publicError(error, this.#errorContext);
      this.end();
      return new ResultText({ errors: [this.failure] });
    }
    if (event === null) {
      if (this.#source.isOver) this.end();
      return null;
    }
    this.#followPermissions();
    return this.#results.cached(event) ?? this.#create(event);
  }

  wait(wake: () => void): void {
    if (this.#pending === null) this.#source.wait(wake);
    else this.#wake = wake;
  }

  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#drop();
    this.#results.leave();
    void this.#source.return();
  }

  #create(event: object): ResultText | null {
    const pending = {};
    this.#pending = pending;
    const text = this.#results.create(event, (created) => {
      if (this.#pending !== pending) return;
      this.#pending = null;
      this.#ready = created;
      const wake = this.#wake;
      this.#wake = null;
      wake?.();
    });
    if (text !== null) this.#pending = null;
    return text;
  }

  #viewerNow(): Viewer | null {
    return this.#guarded === null ? this.#context.viewer : this.#guarded.viewer;
  }

  #followPermissions(): void {
    const viewer = this.#viewerNow();
    if (viewer === this.#viewer) return;
    this.#viewer = viewer;
    const previous = this.#results;
    this.#results = this.#sharing.join(this.#stream, viewer, this.#context);
    previous.leave();
  }

  #revoked(): void {
    this.isRevoked = true;
    this.#sharing.calls.add(() => this.#onRevoked?.());
  }

  #drop(): void {
    this.#ready = null;
    this.#pending = null;
    this.#wake = null;
  }
}
