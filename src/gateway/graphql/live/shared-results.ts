/**
 * Identical subscriptions (one operation, the same variables, the same rights) execute once for each event and write one text.
 *
 * Results are made with the rights that all of them have and nobody's identity, see `sharedViewer`; a context of its own for each
 * event. INTERNAL_ERROR names no request of theirs, but an id that all of them are told.
 *
 * Bounds: results of at most MAX_TEXTS events and MAX_CHARACTERS characters are remembered, of all subscriptions together, the
 * least recently used go first and are made again for who comes later; besides, each group remembers its newest small one. What
 * one subscription alone gets is not remembered.
 */
import { randomUUID } from 'node:crypto';
import type { ExecutionResult } from 'graphql';
import { LRUCache } from 'lru-cache';
import { rightsKey, sharedViewer, type Viewer } from '../../../platform/auth/viewer.ts';
import { SlicedCalls } from '../../../platform/scheduling/sliced-task.ts';
import type { RequestContext } from '../../context.ts';
import type { MaybePromise, Operation, SourceStream } from '../operations.ts';
import { type ErrorLog, publicError, publicResult } from '../public-error.ts';
import { isTooLarge, ResponseTooLarge } from '../response-limit.ts';
import { PlainEvent } from './plain-source.ts';
import { ResultText } from './result-text.ts';

const MAX_TEXTS = 10_000;
const MAX_CHARACTERS = 16_000_000;

/** One event for one group. */
interface Entry {
  /** Who waits while it is made; null: nobody makes it. */
  waiting: ((text: ResultText) => void)[] | null;
}

type Texts = LRUCache<Entry, ResultText>;

export class Sharing {
  /** For all who wait for something that is not an event of their source. */
  readonly calls = new SlicedCalls();
  readonly #log: ErrorLog;
  readonly #groups = new WeakMap<Operation, Map<string, SharedResults>>();
  readonly #texts: Texts = new LRUCache({
    max: MAX_TEXTS,
    maxSize: MAX_CHARACTERS,
    sizeCalculation: ({ text }) => text.length,
  });

  constructor(log: ErrorLog) {
    this.#log = log;
  }

  /** The results for whoever has these rights now; to be left again. `isAlone`: with nobody else, as its caller. */
  join(stream: SourceStream, viewer: Viewer | null, context: RequestContext, isAlone: boolean): SharedResults {
    const { operation, key } = stream;
    if (isAlone) return new SharedResults(this.#parts(stream, viewer, context), () => undefined);
    let groups = this.#groups.get(operation);
    if (groups === undefined) {
      groups = new Map();
      this.#groups.set(operation, groups);
    }
    const place = `${viewer === null ? '' : rightsKey(viewer)} ${key}`;
    let group = groups.get(place);
    if (group === undefined) {
      const parts = this.#parts(stream, viewer && sharedViewer(viewer), {
        ...context,
        address: '',
        requestId: randomUUID(),
      });
      group = new SharedResults(parts, () => groups.delete(place));
      groups.set(place, group);
    }
    group.members += 1;
    return group;
  }

  #parts(stream: SourceStream, viewer: Viewer | null, context: RequestContext): SharedParts {
    return { stream, viewer, context, log: this.#log, texts: this.#texts, calls: this.calls };
  }
}

interface SharedParts {
  readonly stream: SourceStream;
  readonly viewer: Viewer | null;
  readonly context: RequestContext;
  readonly log: ErrorLog;
  readonly texts: Texts;
  readonly calls: SlicedCalls;
}

export class SharedResults {
  members = 0;
  readonly #parts: SharedParts;
  readonly #onEmpty: () => void;
  readonly #entries = new WeakMap<object, Entry>();
  /** What all are told next, mostly. */
  #last: { readonly event: object; readonly text: ResultText } | null = null;

  constructor(parts: SharedParts, onEmpty: () => void) {
    this.#parts = parts;
    this.#onEmpty = onEmpty;
  }

  leave(): void {
    this.members -= 1;
    if (this.members === 0) this.#onEmpty();
  }

  /** What has been made of the event, if it is remembered. */
  known(event: object): ResultText | null {
    if (event === this.#last?.event) return this.#last.text;
    const entry = this.#entries.get(event);
    return entry === undefined ? null : (this.#parts.texts.get(entry) ?? null);
  }

  /** For an event that is not known. At once where nothing is waited for; else null, and `onMade` gets it in another turn. */
  make(event: object, onMade: (text: ResultText) => void): ResultText | null {
    let entry = this.#entries.get(event);
    if (entry === undefined) {
      entry = { waiting: null };
      this.#entries.set(event, entry);
    }
    if (entry.waiting !== null) {
      entry.waiting.push(onMade);
      return null;
    }
    const made = this.#run(event);
    if (made instanceof ResultText) {
      this.#remember(event, entry, made);
      return made;
    }
    entry.waiting = [onMade];
    void made.then((text) => this.#made(event, entry, text));
    return null;
  }

  #made(event: object, entry: Entry, text: ResultText): void {
    this.#remember(event, entry, text);
    const waiting = entry.waiting ?? [];
    entry.waiting = null;
    for (const tell of waiting) this.#parts.calls.add(() => tell(text));
  }

  #remember(event: object, entry: Entry, text: ResultText): void {
    if (this.members < 2) return;
    this.#parts.texts.set(entry, text);
    if (!text.isLarge) this.#last = { event, text };
  }

  #run(event: object): MaybePromise<ResultText> {
    const { stream, viewer, context, log } = this.#parts;
    const place = { requestId: context.requestId, log };
    const refused = (error: unknown) => new ResultText({ errors: [publicError(error, place)] });
    const written = (executed: ExecutionResult) => {
      const result = publicResult(executed, place);
      return isTooLarge(result) ? refused(new ResponseTooLarge()) : new ResultText(result);
    };
    try {
      const result = stream.run(event instanceof PlainEvent ? event.value : event, { ...context, viewer });
      if (!(result instanceof Promise)) return written(result);
      return result.then(written).catch(refused);
    } catch (error) {
      return refused(error);
    }
  }
}
