import type { Duplex } from 'node:stream';
import type { Emitter } from './aedes-internals.ts';
import type { Connection } from './connection.ts';
import type { CoreParts } from './core-parts.ts';
import { PublisherBackpressure } from './packet-queue.ts';

/** Memory of one `write` that waits in a stream, without its bytes. A PUBLISH is up to five writes. */
const WRITE_BYTES = 128;
/** Memory of one delivery that is not written yet, without its payload. */
const DELIVERY_BYTES = 512;
/** Minimum size of a payload that counts as written in advance: several may arrive in one iteration. */
const LARGE_BYTES = 16_384;

/** DROP: the message is dropped and counted. CLOSE: the connection is closed; the session stores the message. */
type Admittance = 'SEND' | 'DROP' | 'CLOSE';

/**
 * Limits the memory of live messages that subscribers have not taken from their sockets. Per client: `unsentBytes` of
 * QoS 0, `sessionBytes` of QoS 1 and 2, plus one message. Per broker, where a payload counts once: above
 * `unsentTotalBytes`, clients above their fair share get no QoS 0. Above `totalBytes`, QoS 0 is dropped for all, and
 * clients above their share are disconnected at QoS 1 and 2.
 */
export class SocketBudget {
  readonly #parts: CoreParts;
  #bytes = 0;
  /** Deliveries of the message that is being emitted. */
  #deliveries = 0;
  dropped = 0;

  constructor(parts: CoreParts) {
    this.#parts = parts;
  }

  /** Counts every message of the emitter by replacing its `emit`. */
  watch(emitter: Emitter): void {
    const emit = emitter.emit.bind(emitter);
    emitter.emit = (packet, done) => {
      let bytes = packet.payload?.length ?? 0;
      let isDone = false;
      const isLarge = packet.qos === 0 && bytes >= LARGE_BYTES;
      const sent = isLarge ? this.#slowDown(packet.clientId, bytes) : null;
      const finished = (error?: Error | null) => {
        isDone = true;
        this.#bytes -= bytes;
        sent?.();
        done(error);
      };
      const outer = this.#deliveries;
      this.#deliveries = 0;
      this.#bytes += bytes;
      try {
        emit(packet, finished);
      } catch (error) {
        // If `isDone` is true, `done` threw the error, and the bytes are subtracted already.
        if (!isDone) {
          isDone = true;
          this.#bytes -= bytes;
          sent?.();
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

  admit(connection: Connection, conn: Duplex, qos: 0 | 1 | 2, length: number): Admittance {
    const unsent = unsentOf(connection, conn);
    const admittance = this.#decide(unsent, qos, length);
    if (admittance === 'SEND') {
      this.#deliveries += 1;
      if (length >= LARGE_BYTES) addNotWritten(connection, length);
    } else if (admittance === 'DROP') {
      this.dropped += 1;
      connection.dropped += 1;
    }
    return admittance;
  }

  #decide(unsent: number, qos: 0 | 1 | 2, length: number): Admittance {
    const { unsentBytes, unsentTotalBytes, sessionBytes, totalBytes } = this.#parts.limits;
    const all = this.#bytes;
    if (qos === 0) {
      if (unsent > unsentBytes || all > totalBytes) return 'DROP';
      return all > unsentTotalBytes && unsent + length > this.#share(unsentTotalBytes) ? 'DROP' : 'SEND';
    }
    if (unsent > sessionBytes) return 'CLOSE';
    return all > totalBytes && unsent > this.#share(totalBytes) ? 'CLOSE' : 'SEND';
  }

  #share(total: number): number {
    return total / Math.max(1, this.#parts.registry.connectedCount);
  }

  #slowDown(publisherId: string | undefined, bytes: number): (() => void) | null {
    const publisher = publisherId === undefined ? undefined : this.#parts.registry.connection(publisherId);
    if (!publisher) return null;
    publisher.backpressure ??= new PublisherBackpressure(publisher);
    return publisher.backpressure.began(bytes);
  }
}

/** Bytes that wait in a client's stream or are about to be written to it, with the memory of each `write`. */
function unsentOf({ notWrittenBytes }: Connection, conn: Duplex): number {
  const { writableLength } = conn;
  if (writableLength === 0) return notWrittenBytes;
  const state = (conn as { _writableState?: { bufferedRequestCount?: number } })._writableState;
  return writableLength + notWrittenBytes + (state?.bufferedRequestCount ?? 0) * WRITE_BYTES;
}

/** aedes writes a message one iteration of the event loop after `authorizeForward`. */
function addNotWritten(connection: Connection, bytes: number): void {
  const isFirst = connection.notWrittenBytes === 0;
  connection.notWrittenBytes += bytes;
  if (!isFirst) return;
  setImmediate(() => {
    connection.notWrittenBytes = 0;
  });
}
