/** Beyond these limits nothing more is read of the connection. What was read already is added. */
const MAX_TASKS = 1_000;
const MAX_BYTES = 1_048_576;

export interface PausableReader {
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

/**
 * Delays the publishes of a connection until the SUBSCRIBEs before them are in effect, which may wait for the disk.
 * Otherwise a client that subscribes and publishes immediately would miss its own message, unlike with Mosquitto.
 */
export class SubscribeOrder {
  readonly #queue: PacketQueue;
  readonly #pending = new Map<object, () => void>();

  constructor(reader: PausableReader) {
    this.#queue = new PacketQueue(reader);
  }

  /** aedes handles a SUBSCRIBE now, which is identified by its list of subscriptions. */
  began(subscriptions: object): void {
    this.#pending.set(
      subscriptions,
      this.#queue.add(0, () => {}),
    );
  }

  settled(subscriptions: object): void {
    const settle = this.#pending.get(subscriptions);
    this.#pending.delete(subscriptions);
    settle?.();
  }

  get isPending(): boolean {
    return !this.#queue.isEmpty;
  }

  after(bytes: number, run: () => void): void {
    this.#queue.add(bytes, run)();
  }

  /** Called when the connection is closed: aedes completes none of its SUBSCRIBEs. */
  close(): void {
    for (const subscriptions of [...this.#pending.keys()]) this.settled(subscriptions);
  }
}
