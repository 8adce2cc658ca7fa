import type { Duplex } from 'node:stream';
import type { BrokerLimits, QueueLimits } from '../limits.ts';
import type { Emitter } from './aedes-internals.ts';
import type { Connection } from './connection.ts';
import { PublisherBackpressure } from './publisher-backpressure.ts';

/** Memory of one `write` that waits in a stream, beside its bytes. A PUBLISH is up to five of them. */
const WRITE_BYTES = 128;
/** Memory of one delivery that is not written yet, beside its payload. */
const DELIVERY_BYTES = 512;
/** Payloads from here on count as written before the socket has them: several of them arrive in one turn of the event loop. */
const LARGE_BYTES = 16_384;

export interface SocketBudgetOptions {
  readonly limits: Pick<BrokerLimits, 'unsentBytes' | 'unsentTotalBytes'> &
    Pick<QueueLimits, 'sessionBytes' | 'totalBytes'>;
  readonly connectedCount: () => number;
  readonly connectionOf: (clientId: string) => Connection | undefined;
}

/** DROP: the message passes the client by and is counted. END: the connection ends; its session keeps the message. */
export type Admittance = 'TAKE' | 'DROP' | 'END';

/**
 * Bounds the memory of live messages that subscribers have not taken from their sockets.
 *
 * Per client: at most `unsentBytes` of QoS 0 and `sessionBytes` of QoS 1 and 2, plus one message. For the broker: payloads count once
 * for all their subscribers, from the publish until the last socket has taken them. Above `unsentTotalBytes`, a client that has
 * more unsent than its fair share loses QoS 0; above `totalBytes` all clients lose QoS 0, and a client above its fair share that is
 * sent QoS 1 or 2 is disconnected.
 *
 * A publisher of large QoS 0 messages is paced, see `PublisherBackpressure`; at QoS 1 and 2 acknowledgements do so.
 */
export class SocketBudget {
  readonly #options: SocketBudgetOptions;
  #bytes = 0;
  /** Deliveries of the message that is being emitted. */
  #deliveries = 0;
  #dropped = 0;

  constructor(options: SocketBudgetOptions) {
    this.#options = options;
  }

  /** Bytes of all live messages that a socket has not taken yet. */
  get bytes(): number {
    return this.#bytes;
  }

  /** QoS 0 messages that passed a client by, since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Counts every message from here on. Replaces `emit` of the emitter that aedes delivers with. */
  watch(emitter: Emitter): void {
    const emit = emitter.emit.bind(emitter);
    emitter.emit = (packet, done) => {
      let bytes = packet.payload?.length ?? 0;
      let isDone = false;
      const paced = packet.qos === 0 && bytes >= LARGE_BYTES ? this.#paced(packet.clientId, bytes) : null;
      const taken = (error?: Error | null) => {
        isDone = true;
        this.#bytes -= bytes;
        paced?.();
        done(error);
      };
      const outer = this.#deliveries;
      this.#deliveries = 0;
      this.#bytes += bytes;
      try {
        emit(packet, taken);
      } catch (error) {
        // Otherwise it is `done` that failed.
        if (!isDone) {
          isDone = true;
          this.#bytes -= bytes;
          paced?.();
        }
        throw error;
      } finally {
        if (!isDone) {
          const more = this.#deliveries * (DELIVERY_BYTES + packet.topic.length);
          bytes += more;
          this.#bytes += more;
        }
        this.#deliveries = outer;
      }
    };
  }

  /** Whether a live message goes to a client now. A dropped message is counted. */
  admit(connection: Connection, conn: Duplex, qos: 0 | 1 | 2, length: number): Admittance {
    const unsent = unsentOf(connection, conn);
    const admittance = this.#decide(unsent, qos, length);
    if (admittance === 'TAKE') {
      this.#deliveries += 1;
      if (length >= LARGE_BYTES) addNotWritten(connection, length);
    } else if (admittance === 'DROP') {
      this.#dropped += 1;
      connection.dropped += 1;
    }
    return admittance;
  }

  #decide(unsent: number, qos: 0 | 1 | 2, length: number): Admittance {
    const { unsentBytes, unsentTotalBytes, sessionBytes, totalBytes } = this.#options.limits;
    const all = this.#bytes;
    if (qos === 0) {
      if (unsent > unsentBytes || all > totalBytes) return 'DROP';
      return all > unsentTotalBytes && unsent + length > this.#share(unsentTotalBytes) ? 'DROP' : 'TAKE';
    }
    if (unsent > sessionBytes) return 'END';
    return all > totalBytes && unsent > this.#share(totalBytes) ? 'END' : 'TAKE';
  }

  #share(total: number): number {
    return total / Math.max(1, this.#options.connectedCount());
  }

  #paced(publisherId: string | undefined, bytes: number): (() => void) | null {
    const publisher = publisherId === undefined ? undefined : this.#options.connectionOf(publisherId);
    if (!publisher) return null;
    publisher.backpressure ??= new PublisherBackpressure(publisher);
    return publisher.backpressure.began(bytes);
  }
}

/** Bytes that wait in a client's stream or are about to be written there, with what each `write` takes beside them. */
function unsentOf({ notWrittenBytes }: Connection, conn: Duplex): number {
  const { writableLength } = conn;
  if (writableLength === 0) return notWrittenBytes;
  // Node has the number, and declares it nowhere.
  const state = (conn as { _writableState?: { bufferedRequestCount?: number } })._writableState;
  return writableLength + notWrittenBytes + (state?.bufferedRequestCount ?? 0) * WRITE_BYTES;
}

/** aedes writes a message one step of the event loop after it asks whether to. */
function addNotWritten(connection: Connection, bytes: number): void {
  const isFirst = connection.notWrittenBytes === 0;
  connection.notWrittenBytes += bytes;
  if (!isFirst) return;
  setImmediate(() => {
    connection.notWrittenBytes = 0;
  });
}
