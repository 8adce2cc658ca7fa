import type { Connection } from './connection.ts';

/** Beyond this nothing more is read of the connection; what was read in the same piece still comes on top, 64 KiB or one packet. */
const MAX_HELD = 1_000;
const MAX_HELD_BYTES = 1_048_576;

interface Held {
  readonly bytes: number;
  readonly run: () => void;
  isReady: boolean;
}

/**
 * What is to be done for packets of one connection in the order in which they came, where one is not ready for it and those behind
 * it have to wait.
 */
export class PacketRow {
  readonly #connection: Connection;
  #row: Held[] = [];
  #bytes = 0;
  #isRunning = false;
  #isStopped = false;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get isEmpty(): boolean {
    return this.#row.length === 0;
  }

  /** `run` is called when the returned function was, for this one and those before it. */
  add(bytes: number, run: () => void): () => void {
    const held: Held = { bytes, run, isReady: false };
    this.#row.push(held);
    this.#bytes += bytes;
    if (!this.#isStopped && this.#isFull()) {
      this.#isStopped = true;
      stopReading(this.#connection);
    }
    return () => {
      held.isReady = true;
      this.#advance();
    };
  }

  #advance(): void {
    // What runs may read on, and so come back here.
    if (this.#isRunning) return;
    this.#isRunning = true;
    for (let first = this.#row[0]; first?.isReady; first = this.#row[0]) {
      this.#row.shift();
      this.#bytes -= first.bytes;
      first.run();
    }
    this.#isRunning = false;
    if (!this.#isStopped || this.#isFull()) return;
    this.#isStopped = false;
    goOnReading(this.#connection);
  }

  #isFull(): boolean {
    // The end of the last one is what reading goes on with.
    if (this.#row.length === 0) return false;
    return this.#row.length >= MAX_HELD || this.#bytes >= MAX_HELD_BYTES;
  }
}

interface AedesReading {
  readonly closed: boolean;
  readonly _nextBatch: () => void;
}

/** aedes reads on whenever something came, whether or not it is done with what it read before. */
export function stopReading(connection: Connection): void {
  connection.fullRows += 1;
  const { client } = connection;
  if (client) client.conn.off('readable', (client as unknown as AedesReading)._nextBatch);
}

export function goOnReading(connection: Connection): void {
  connection.fullRows -= 1;
  const { client, fullRows } = connection;
  if (!client || fullRows > 0) return;
  const { closed, _nextBatch } = client as unknown as AedesReading;
  if (!closed) client.conn.on('readable', _nextBatch);
}
