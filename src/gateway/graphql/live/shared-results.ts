/**
 * Shares results among identical subscriptions: same operation, variables and permissions. Each event is executed once,
 * without an identity (see `sharedViewer`) and with a new context. Evicted results are created again. Results of a
 * single subscription are not cached.
 */
import { randomUUID } from 'node:crypto';
import type { ExecutionResult } from 'graphql';
import { LRUCache } from 'lru-cache';
import { rightsKey, sharedViewer, type Viewer } from '../../../platform/auth/viewer.ts';
import { SlicedCalls } from '../../../platform/scheduling/sliced-task.ts';
import type { ValueOrPromise } from '../../../platform/value-or-promise.ts';
import type { RequestContext } from '../../context.ts';
import type { Operation, SourceStream } from '../operation.ts';
import { type ErrorLog, publicError, publicResult } from '../public-error.ts';
import { isTooLarge, ResponseTooLarge } from '../response-limit.ts';
import { ResultText } from './result-text.ts';

const MAX_TEXTS = 10_000;
const MAX_CHARACTERS = 16_000_000;

interface Entry {
  /** Subscriptions that wait for the result. `null` if it is not being created. */
  waiting: ((text: ResultText) => void)[] | null;
}

export class ResultSharing {
  readonly calls = new SlicedCalls();
  readonly log: ErrorLog;
  readonly #groups = new WeakMap<Operation, Map<string, SharedResults>>();
  readonly texts = new LRUCache<Entry, ResultText>({
    max: MAX_TEXTS,
    maxSize: MAX_CHARACTERS,
    sizeCalculation: ({ text }) => text.length,
  });

  constructor(log: ErrorLog) {
    this.log = log;
  }

  /** Joins the results; call `leave` at the end. */
  join(stream: SourceStream, viewer: Viewer | null, context: RequestContext): SharedResults {
    const { operation, key } = stream;
    let groups = this.#groups.get(operation);
    if (groups === undefined) {
      groups = new Map();
      this.#groups.set(operation, groups);
    }
    const groupKey = `${viewer === null ? '' : rightsKey(viewer)} ${key}`;
    let group = groups.get(groupKey);
    if (group === undefined) {
      const shared = { ...context, address: '', requestId: randomUUID() };
      const run = { stream, viewer: viewer && sharedViewer(viewer), context: shared };
      group = new SharedResults(this, run, () => groups.delete(groupKey));
      groups.set(groupKey, group);
    }
    group.memberCount += 1;
    return group;
  }
}

interface SharedRun {
  readonly stream: SourceStream;
  readonly viewer: Viewer | null;
  readonly context: RequestContext;
}

export class SharedResults {
  memberCount = 0;
  readonly #sharing: ResultSharing;
  readonly #run: SharedRun;
  readonly #onEmpty: () => void;
  readonly #entries = new WeakMap<object, Entry>();
  /** The newest small result, which most subscriptions read next. */
  #last: { readonly event: object; readonly text: ResultText } | null = null;

  constructor(sharing: ResultSharing, run: SharedRun, onEmpty: () => void) {
    this.#sharing = sharing;
    this.#run = run;
    this.#onEmpty = onEmpty;
  }

  leave(): void {
    this.memberCount -= 1;
    if (this.memberCount === 0) this.#onEmpty();
  }

  cached(event: object): ResultText | null {
    if (event === this.#last?.event) return this.#last.text;
    const entry = this.#entries.get(event);
    return entry === undefined ? null : (this.#sharing.texts.get(entry) ?? null);
  }

  /** Creates a result, or returns null and calls `onCreated` later if the execution is asynchronous. */
  create(event: object, onCreated: (text: ResultText) => void): ResultText | null {
    let entry = this.#entries.get(event);
    if (entry === undefined) {
      entry = { waiting: null };
      this.#entries.set(event, entry);
    }
    if (entry.waiting !== null) {
      entry.waiting.push(onCreated);
      return null;
    }
    const created = this.#execute(event);
    if (created instanceof ResultText) {
      this.#cache(event, entry, created);
      return created;
    }
    entry.waiting = [onCreated];
    void created.then((text) => this.#settle(event, entry, text));
    return null;
  }

  #settle(event: object, entry: Entry, text: ResultText): void {
    this.#cache(event, entry, text);
    const waiting = entry.waiting ?? [];
    entry.waiting = null;
    for (const onCreated of waiting) this.#sharing.calls.add(() => onCreated(text));
  }

  #cache(event: object, entry: Entry, text: ResultText): void {
    if (this.memberCount < 2) return;
    this.#sharing.texts.set(entry, text);
    if (!text.isLarge) this.#last = { event, text };
  }

  #execute(event: object): ValueOrPromise<ResultText> {
    const { stream, viewer, context } = this.#run;
    const errorContext = { requestId: context.requestId, log: this.#sharing.log };
    const refused = (error: unknown) => new ResultText({ errors: [publicError(error, errorContext)] });
    const written = (executed: ExecutionResult) => {
      const result = publicResult(executed, errorContext);
      return isTooLarge(result) ? refused(new ResponseTooLarge()) : new ResultText(result);
    };
    try {
      const result = stream.run(event, { ...context, viewer });
      if (!(result instanceof Promise)) return written(result);
      return result.then(written).catch(refused);
    } catch (error) {
      return refused(error);
    }
  }
}
