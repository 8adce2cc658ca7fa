import type { ReadingTime } from '../../../protocol/mqtt/reading-time.ts';
import type { RetainedPacket, RetainedStore } from '../store/retained-store.ts';
import type { Connection } from './connection.ts';
import type { Faults } from './faults.ts';

/** Maximum of one slice; a larger message is a slice of its own. */
const MAX_MESSAGES = 100;
const MAX_BYTES = 65_536;
/** Number of waiting readings from which nothing more is read of the client. */
const MAX_WAITING = 16;
/** Number of clients which are away and whose readings go on. Beyond it the readings of a client end with its connection. */
const MAX_AWAY = 1_000;

/** What aedes pipes retained messages into: it sends a message, and calls back when the socket has taken it. */
interface Sending {
  _transform(message: RetainedPacket, encoding: BufferEncoding, sent: () => void): void;
}

/** The retained messages for one SUBSCRIBE; null: many topics were compared that do not match. */
interface Reading {
  readonly messages: Iterator<RetainedPacket | null>;
  readonly sending: Sending;
}

/** Readings of one client, of which the first is in progress. */
interface Row {
  readonly connection: Connection;
  readonly readings: Reading[];
  isAway: boolean;
}

export interface RetainedReadingsOptions {
  readonly retained: RetainedStore;
  /** Shared with what is read of clients. */
  readonly time: ReadingTime;
  readonly faults: Faults;
}

/**
 * Sends retained messages after a SUBSCRIBE, in slices, round robin over clients: to compare hundreds of filters with a hundred thousand
 * topics takes seconds, and aedes 2.0.0-beta.1 itself sends one message in two iterations of the event loop. The first slice follows
 * SUBACK at once where the broker has time, so a client that leaves after SUBACK has its messages, or its session has them.
 *
 * When the connection ends, readings of a session that stays go on, because what it is sent at QoS 1 and 2 goes into its queue.
 */
export class RetainedReadings {
  readonly #options: RetainedReadingsOptions;
  readonly #rows = new Map<Connection, Row>();
  /** Rows whose next slice may be read, first in, first out. */
  #ready: Row[] = [];
  #isScheduled = false;
  #away = 0;
  #subscriber: Connection | undefined;

  constructor(options: RetainedReadingsOptions) {
    this.#options = options;
  }

  /** aedes asks for retained messages without saying for whom, immediately after its event `subscribe`. */
  subscribed(connection: Connection | undefined): void {
    this.#subscriber = connection;
  }

  /** As aedes uses a stream of the retained messages that match one of the filters. */
  read(filters: readonly string[]): { pipe(sending: Sending): void } {
    const connection = this.#subscriber;
    const messages = this.#options.retained.forSubscriber(filters);
    return { pipe: (sending) => connection && this.#add(connection, { messages, sending }) };
  }

  /** The connection has ended. */
  left(connection: Connection): void {
    const row = this.#rows.get(connection);
    if (!row) return;
    if (!connection.isClean && this.#away < MAX_AWAY) {
      row.isAway = true;
      this.#away += 1;
    } else this.#end(row);
  }

  /** Ends all readings. */
  close(): void {
    this.#rows.clear();
    this.#ready = [];
  }

  #add(connection: Connection, reading: Reading): void {
    const row = this.#rows.get(connection);
    if (row) {
      row.readings.push(reading);
      if (row.readings.length === MAX_WAITING) connection.stopReading();
      return;
    }
    const added = { connection, readings: [reading], isAway: false };
    this.#rows.set(connection, added);
    if (this.#options.time.leftMs > 0) this.#read(added);
    else this.#wait(added);
  }

  #wait(row: Row): void {
    this.#ready.push(row);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#ready.length === 0) return;
    this.#isScheduled = true;
    // One slice of all clients is one slice among those of clients whose packets are read.
    this.#options.time.nextIteration(() => {
      this.#isScheduled = false;
      const row = this.#ready.shift();
      if (row && this.#rows.has(row.connection)) this.#read(row);
      this.#schedule();
    });
  }

  #read(row: Row): void {
    const text = 'retained messages could not be sent to a client';
    try {
      this.#readSlice(row);
    } catch (error) {
      this.#end(row);
      this.#options.faults.ofConnection(row.connection, text, error);
    }
  }

  /** The next slice follows when the socket has taken this one. */
  #readSlice(row: Row): void {
    const { time } = this.#options;
    const [reading] = row.readings;
    if (!reading) return;
    const start = performance.now();
    const end = start + time.leftMs;
    let isDone = false;
    let unsent = 1;
    const sent = () => {
      unsent -= 1;
      if (unsent === 0) this.#sliceSent(row, isDone);
    };
    let bytes = 0;
    for (let count = 0; count < MAX_MESSAGES && bytes < MAX_BYTES; ) {
      const { done, value } = reading.messages.next();
      isDone = done === true;
      if (isDone) break;
      if (value) {
        unsent += 1;
        count += 1;
        bytes += value.topic.length + value.payload.length;
        reading.sending._transform(value, 'utf8', sent);
      }
      if (performance.now() >= end) break;
    }
    time.spend(performance.now() - start);
    sent();
  }

  #sliceSent(row: Row, isDone: boolean): void {
    const { connection, readings } = row;
    if (!this.#rows.has(connection)) return;
    if (isDone) {
      readings.shift();
      if (readings.length === MAX_WAITING - 1) connection.resumeReading();
    }
    if (readings.length > 0) this.#wait(row);
    else this.#end(row);
  }

  #end(row: Row): void {
    if (!this.#rows.delete(row.connection)) return;
    if (row.isAway) this.#away -= 1;
    if (row.readings.length >= MAX_WAITING) row.connection.resumeReading();
  }
}
