import { ServiceError } from '../../../platform/errors.ts';
import type { ThreadDown, ThreadUser } from '../../../protocol/hosting/kept-thread.ts';
import type { TopicQuestions, TopicRecorder } from '../model/topic-recorder.ts';
import { DEFAULT_TOPIC_SETTINGS, type TopicSettings } from '../model/topic-settings.ts';
import type { RecorderPlace, TopicKeptThread, TopicNews, TopicWorkerThread } from './topic-protocol.ts';

interface Open {
  readonly number: number;
  readonly thread: TopicWorkerThread;
  /** Questions on their way, or not answered yet. */
  pending: number;
}

/** One document on the graph may ask about some 4,000 levels. */
const MAX_PENDING = 5_000;

/**
 * A recorder as it runs in the thread of the topics, where there is something of it from the first question, or from settings that have
 * it always on, until it stops there.
 *
 * When the thread ends, what was recorded is gone; it begins anew with the next thread, and `since` says so. Errors of `ask` beside
 * those of TopicRecorder: BROKER_UNREACHABLE while the thread is down, with the reason; BROKER_TIMEOUT for what comes while MAX_PENDING
 * questions wait.
 */
export class ThreadRecorder implements TopicRecorder, ThreadUser<TopicWorkerThread, TopicNews> {
  readonly #thread: TopicKeptThread;
  readonly #place: RecorderPlace;
  readonly #onClosed: () => void;
  #settings: TopicSettings = DEFAULT_TOPIC_SETTINGS;
  #open: Open | null = null;
  #isUsed = false;
  #ending: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(thread: TopicKeptThread, place: RecorderPlace, onClosed: () => void) {
    this.#thread = thread;
    this.#place = place;
    this.#onClosed = onClosed;
  }

  async apply(settings: TopicSettings): Promise<void> {
    this.#assertOpen();
    this.#settings = settings;
    if (!settings.isAlwaysOn && this.#open === null) return;
    const thread = this.#use();
    // They are applied with the next one.
    if ('down' in thread) return;
    await (this.#open === null ? this.#begin(thread).applied : this.#apply(this.#open));
  }

  async ask<Type extends keyof TopicQuestions>(
    type: Type,
    question: TopicQuestions[Type]['question'],
  ): Promise<TopicQuestions[Type]['answer']> {
    this.#assertOpen();
    const thread = this.#use();
    if ('down' in thread) throw new ServiceError('BROKER_UNREACHABLE', thread.down);
    const open = this.#open ?? this.#begin(thread).open;
    if (open.pending >= MAX_PENDING) {
      throw new ServiceError('BROKER_TIMEOUT', 'Too many questions about the topics of the broker wait for an answer');
    }
    return (await this.#askThread(open, type, question)) as TopicQuestions[Type]['answer'];
  }

  async close(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#leave();
      this.#onClosed();
    }
    await this.#ending;
  }

  /** It has stopped there. What was asked or set meanwhile has begun it again. */
  told({ recorder }: TopicNews): void {
    if (this.#open?.number === recorder && this.#open.pending === 0 && !this.#settings.isAlwaysOn) this.#leave();
  }

  threadEnded(): void {
    this.#open = null;
  }

  threadStarted(thread: TopicWorkerThread): void {
    if (this.#isClosed || !this.#isUsed || this.#open !== null) return;
    const { open } = this.#begin(thread);
    // As whoever asked before the end wants it; how it is going, the next question tells.
    this.#askThread(open, 'status', {}).catch(() => undefined);
  }

  #use(): TopicWorkerThread | ThreadDown {
    this.#isUsed = true;
    this.#thread.use(this, true);
    return this.#thread.current();
  }

  #begin(thread: TopicWorkerThread): { readonly open: Open; readonly applied: Promise<unknown> } {
    const open: Open = { number: this.#thread.numberFor(this), thread, pending: 0 };
    this.#open = open;
    thread.order({ recorder: open.number, place: this.#place });
    const applied = this.#apply(open);
    // An end of the thread has it begin anew.
    applied.catch(() => undefined);
    return { open, applied };
  }

  #apply(open: Open): Promise<unknown> {
    return open.thread.ask({ type: 'apply', recorder: open.number, settings: this.#settings });
  }

  async #askThread<Type extends keyof TopicQuestions>(
    open: Open,
    about: Type,
    question: TopicQuestions[Type]['question'],
  ): Promise<unknown> {
    open.pending += 1;
    try {
      return await open.thread.ask({ type: 'ask', recorder: open.number, about, question });
    } finally {
      open.pending -= 1;
    }
  }

  #leave(): void {
    const open = this.#open;
    this.#open = null;
    // An end of the thread is an end of it, too.
    const closed = open?.thread.ask({ type: 'close', recorder: open.number }).catch(() => undefined);
    this.#ending = Promise.all([this.#ending, closed]).then(() => {
      // It may have been asked meanwhile.
      if (this.#open !== null) return;
      this.#isUsed = false;
      this.#thread.use(this, false);
    });
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new ServiceError('BROKER_UNREACHABLE', 'The recorder of topics was closed');
  }
}
