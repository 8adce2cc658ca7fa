import type { Viewer } from '../../../platform/auth/viewer.ts';
import type { RequestContext } from '../../context.ts';
import { isLiveSource, type LiveSource } from '../../live/live-source.ts';
import { GuardedSource } from '../guarded.ts';
import type { SourceStream } from '../operations.ts';
import { type ErrorPlace, type PublicError, publicError } from '../public-error.ts';
import { PlainSource } from './plain-source.ts';
import { ResultText } from './result-text.ts';
import type { SharedResults, Sharing } from './shared-results.ts';

/**
 * The results of one subscription, in the order of its events, for whoever writes them somewhere; asked like a LiveSource.
 *
 * Sources that are no LiveSource share with nobody. A source that fails gives a last result that tells why. Rights that
 * change and still suffice move the subscription to the results of those rights; rights that end drop what is under way.
 */
export class LiveResults {
  readonly #source: LiveSource<object>;
  readonly #guarded: GuardedSource<object> | null;
  readonly #stream: SourceStream;
  readonly #context: RequestContext;
  readonly #sharing: Sharing;
  readonly #place: ErrorPlace;
  readonly #isAlone: boolean;
  #viewer: Viewer | null;
  #results: SharedResults;
  /** What `take` gives next, made while it was waited for. */
  #made: ResultText | null = null;
  /** Changes with each result that is waited for, so that one which is not wanted any more is known. */
  #making: object | null = null;
  #wake: (() => void) | null = null;
  #isOver = false;
  #failure: PublicError | null = null;
  #isBroken: boolean;
  #onBroken: (() => void) | null = null;

  constructor(stream: SourceStream, context: RequestContext, sharing: Sharing, place: ErrorPlace) {
    const { source } = stream;
    this.#isAlone = !isLiveSource(source);
    this.#source = isLiveSource(source) ? source : new PlainSource(source);
    this.#guarded = this.#source instanceof GuardedSource ? this.#source : null;
    this.#stream = stream;
    this.#context = context;
    this.#sharing = sharing;
    this.#place = place;
    this.#viewer = this.#viewerNow();
    this.#results = sharing.join(stream, this.#viewer, context, this.#isAlone);
    const signal = this.#guarded?.signal;
    this.#isBroken = signal?.aborted ?? false;
    signal?.addEventListener('abort', () => this.#broken(), { once: true });
  }

  /** Nothing comes any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** What the source ended with, if it was an error; the last result told it. */
  get failure(): PublicError | null {
    return this.#failure;
  }

  /** The rights have ended: whoever writes must not wait until somebody reads what is written. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** Called, in another turn of the event loop, when the rights end. */
  set onBroken(tell: () => void) {
    this.#onBroken = tell;
    if (this.#isBroken) this.#broken();
  }

  /** The next result. Null: none now, or never again (`isOver`). */
  take(): ResultText | null {
    if (this.#isOver) return null;
    if (this.#isBroken) this.#drop();
    if (this.#made !== null) {
      const made = this.#made;
      this.#made = null;
      return made;
    }
    if (this.#making !== null) return null;
    let event: object | null;
    try {
      event = this.#source.take();
    } catch (error) {
      this.#failure = publicError(error, this.#place);
      this.end();
      return new ResultText({ errors: [this.#failure] });
    }
    if (event === null) {
      if (this.#source.isOver) this.end();
      return null;
    }
    this.#followRights();
    return this.#results.known(event) ?? this.#make(event);
  }

  /** To be called once after `take` gave null; `wake` is called once. */
  wait(wake: () => void): void {
    if (this.#making === null) this.#source.wait(wake);
    else this.#wake = wake;
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#drop();
    this.#results.leave();
    void this.#source.return();
  }

  #make(event: object): ResultText | null {
    const making = {};
    this.#making = making;
    const text = this.#results.make(event, (made) => {
      if (this.#making !== making) return;
      this.#making = null;
      this.#made = made;
      this.#wakeNow();
    });
    if (text !== null) this.#making = null;
    return text;
  }

  #viewerNow(): Viewer | null {
    return this.#guarded === null ? this.#context.viewer : this.#guarded.viewer;
  }

  #followRights(): void {
    const viewer = this.#viewerNow();
    if (viewer === this.#viewer) return;
    this.#viewer = viewer;
    const before = this.#results;
    this.#results = this.#sharing.join(this.#stream, viewer, this.#context, this.#isAlone);
    before.leave();
  }

  #broken(): void {
    this.#isBroken = true;
    this.#sharing.calls.add(() => this.#onBroken?.());
  }

  /** What is made or being made is not told any more. */
  #drop(): void {
    this.#made = null;
    this.#making = null;
    this.#wake = null;
  }

  #wakeNow(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}
