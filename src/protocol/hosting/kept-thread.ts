import { type WorkerLog, WorkerThread } from './worker-thread.ts';

export interface KeptThreadOptions<News> {
  /** What it runs, as `streams`. */
  readonly name: string;
  /** Compiled. */
  readonly workerUrl: URL;
  readonly log: WorkerLog;
  /** Heap limit of the thread in MiB; 512. Beyond it the thread ends and starts anew. */
  readonly maxHeapMegabytes?: number | undefined;
  /** How long the thread waits for somebody to use it when nobody does any more; 60,000. */
  readonly lingerMs?: number | undefined;
  /** Whose news it is: a number of `numberFor`. */
  readonly numberOf: (news: News) => number;
}

/** Who has something in the thread, and puts it there again. */
export interface ThreadUser<Thread, News> {
  /** By what it has in the thread. */
  told(news: News): void;
  /** The thread is gone, and with it what was in it. */
  threadEnded(reason: string): void;
  /** There is a thread again. */
  threadStarted(thread: Thread): void;
}

/** It ended, and is not started again yet; why. */
export interface ThreadDown {
  readonly down: string;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** A thread that ran this long failed for a new reason, so the pauses start small again. */
const STEADY_MS = 60_000;

/**
 * A thread that is there while somebody uses it: NONE -> RUNNING with the first user -> NONE some time after the last; RUNNING -> DOWN when
 * it ends by itself (a bug, memory at its limit) -> RUNNING after a pause that doubles.
 */
export class KeptThread<Order, Question, News> {
  readonly #options: KeptThreadOptions<News>;
  readonly #users = new Set<ThreadUser<WorkerThread<Order, Question, News>, News>>();
  /** By the number of what each has in the thread. */
  readonly #byNumber = new Map<number, ThreadUser<WorkerThread<Order, Question, News>, News>>();
  #thread: WorkerThread<Order, Question, News> | null = null;
  #startedAt = 0;
  #down: string | null = null;
  #pauseMs = FIRST_PAUSE_MS;
  #restart: NodeJS.Timeout | null = null;
  #lingering: NodeJS.Timeout | null = null;
  #ending: Promise<void> = Promise.resolve();
  #lastNumber = 0;
  #isClosed = false;

  constructor(options: KeptThreadOptions<News>) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#thread !== null;
  }

  /** Started when there is none. */
  current(): WorkerThread<Order, Question, News> | ThreadDown {
    if (this.#down !== null) return { down: this.#down };
    this.#thread ??= this.#start();
    return this.#thread;
  }

  /** For telling apart what is in it: never the same, and until the user's next one the news of that number are told to it. */
  numberFor(user: ThreadUser<WorkerThread<Order, Question, News>, News>): number {
    this.#forgetNumbers(user);
    this.#lastNumber += 1;
    this.#byNumber.set(this.#lastNumber, user);
    return this.#lastNumber;
  }

  /** It has something to run, or nothing any more. */
  use(user: ThreadUser<WorkerThread<Order, Question, News>, News>, isUsed: boolean): void {
    if (this.#lingering) clearTimeout(this.#lingering);
    this.#lingering = null;
    if (isUsed) this.#users.add(user);
    else {
      this.#users.delete(user);
      this.#forgetNumbers(user);
    }
    if (this.#users.size > 0 || this.#thread === null) return;
    this.#lingering = setTimeout(() => this.#end(), this.#options.lingerMs ?? 60_000).unref();
  }

  /** Safe to call twice. For when its users have ended what they had in it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#restart) clearTimeout(this.#restart);
    this.#restart = null;
    this.#end();
    await this.#ending;
  }

  #start(): WorkerThread<Order, Question, News> {
    const { name, workerUrl, log, maxHeapMegabytes = 512, numberOf } = this.#options;
    this.#startedAt = Date.now();
    const thread = new WorkerThread<Order, Question, News>({
      name,
      workerUrl,
      maxHeapMegabytes,
      log,
      onNews: (news) => this.#byNumber.get(numberOf(news))?.told(news),
      onEnd: (reason) => {
        if (this.#thread === thread) this.#lost(reason ?? 'it was ended');
      },
    });
    return thread;
  }

  #lost(reason: string): void {
    this.#thread = null;
    if (this.#isClosed) return;
    const { name, log } = this.#options;
    log.error({ reason }, `the thread of the ${name} failed`);
    if (Date.now() - this.#startedAt > STEADY_MS) this.#pauseMs = FIRST_PAUSE_MS;
    const down = `What runs ${name} has ended and is started again: ${reason}`;
    this.#down = down;
    this.#restart = setTimeout(() => this.#startAgain(), this.#pauseMs);
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
    for (const user of this.#users) user.threadEnded(down);
  }

  #startAgain(): void {
    this.#restart = null;
    this.#down = null;
    if (this.#users.size === 0) return;
    const thread = this.current();
    if ('down' in thread) return;
    const { name, log } = this.#options;
    log.info({}, `the thread of the ${name} is started again`);
    for (const user of this.#users) user.threadStarted(thread);
  }

  #forgetNumbers(user: ThreadUser<WorkerThread<Order, Question, News>, News>): void {
    for (const [number, one] of this.#byNumber) if (one === user) this.#byNumber.delete(number);
  }

  #end(): void {
    if (this.#lingering) clearTimeout(this.#lingering);
    this.#lingering = null;
    const thread = this.#thread;
    this.#thread = null;
    if (thread) this.#ending = Promise.all([this.#ending, thread.end()]).then(() => undefined);
  }
}
