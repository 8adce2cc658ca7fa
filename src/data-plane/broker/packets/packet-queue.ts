/** Beyond these limits nothing more is read of the connection. What was read already is added. */
const MAX_TASKS = 1_000;
const MAX_BYTES = 1_048_576;

interface PausableReader {
  stopReading(): void;
  resumeReading(): void;
}

interface Task {
  readonly bytes: number;
  readonly run: () => void;
  isReady: boolean;
}

/** Runs one task per packet in the order of the packets. A task that is not ready delays those behind it. */
export class PacketQueue {
  readonly #reader: PausableReader;
  #tasks: Task[] = [];
  #bytes = 0;
  #isRunning = false;
  #isStopped = false;

  constructor(reader: PausableReader) {
    this.#reader = reader;
  }

  get isEmpty(): boolean {
    return this.#tasks.length === 0;
  }

  /** `run` is called when the returned function was called for this task and all before it. */
  add(bytes: number, run: () => void): () => void {
    const task: Task = { bytes, run, isReady: false };
    this.#tasks.push(task);
    this.#bytes += bytes;
    if (!this.#isStopped && this.#isFull()) {
      this.#isStopped = true;
      this.#reader.stopReading();
    }
    return () => {
      task.isReady = true;
      this.#advance();
    };
  }

  #advance(): void {
    // A task may resume reading, which calls this function again.
    if (this.#isRunning) return;
    this.#isRunning = true;
    for (let first = this.#tasks[0]; first?.isReady; first = this.#tasks[0]) {
      this.#tasks.shift();
      this.#bytes -= first.bytes;
      first.run();
    }
    this.#isRunning = false;
    if (!this.#isStopped || this.#isFull()) return;
    this.#isStopped = false;
    this.#reader.resumeReading();
  }

  #isFull(): boolean {
    // An empty queue must resume reading, however large its last packet was.
    if (this.#tasks.length === 0) return false;
    return this.#tasks.length >= MAX_TASKS || this.#bytes >= MAX_BYTES;
  }
}

/** Payload bytes that sockets have not taken, beyond which nothing more is read of the publisher. */
const MAX_UNSENT_BYTES = 512 * 1_024;
const MAX_WAIT_MS = 1_000;

/** Slows a publisher of large QoS 0 messages down to its subscribers, but by at most a second per message. */
export class PublisherBackpressure {
  readonly #publisher: PausableReader;
  #bytes = 0;
  /** Messages of earlier rounds are no longer counted. */
  #round = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(publisher: PausableReader) {
    this.#publisher = publisher;
  }

  began(bytes: number): () => void {
    const round = this.#round;
    this.#bytes += bytes;
    if (this.#timer === null && this.#bytes > MAX_UNSENT_BYTES) this.#stop();
    return () => {
      if (round !== this.#round) return;
      this.#bytes -= bytes;
      if (this.#timer !== null && this.#bytes <= MAX_UNSENT_BYTES) this.#resume(this.#timer);
    };
  }

  #stop(): void {
    this.#publisher.stopReading();
    const timer = setTimeout(() => {
      this.#round += 1;
      this.#bytes = 0;
      this.#resume(timer);
    }, MAX_WAIT_MS);
    timer.unref();
    this.#timer = timer;
  }

  #resume(timer: NodeJS.Timeout): void {
    clearTimeout(timer);
    this.#timer = null;
    this.#publisher.resumeReading();
  }
}
