import type { CoreParts } from '../core/core-parts.ts';
import type { LiveMessage } from '../delivery/sent-messages.ts';
import { PublisherBackpressure } from '../packets/packet-queue.ts';
import type { Connection } from './connection.ts';

/** Memory of one delivery that waits for a socket, without its payload. */
const DELIVERY_BYTES = 512;
/** Minimum size of a payload of QoS 0 that slows its publisher down. */
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
  dropped = 0;

  constructor(parts: CoreParts) {
    this.#parts = parts;
  }

  /** Counts a message that sockets have not taken yet. Call the returned function when they have. */
  waiting(publisherId: string | null, { payload, qos, topic }: LiveMessage, clients: number): () => void {
    const isLarge = qos === 0 && payload.length >= LARGE_BYTES;
    const publisher = isLarge && publisherId !== null ? this.#parts.registry.connection(publisherId) : undefined;
    const sent = publisher && this.#slowDown(publisher, payload.length);
    const bytes = payload.length + clients * (DELIVERY_BYTES + topic.length);
    this.#bytes += bytes;
    return () => {
      this.#bytes -= bytes;
      sent?.();
    };
  }

  /** Counts bytes that are added or (negative) removed. */
  count(bytes: number): void {
    this.#bytes += bytes;
  }

  admit(connection: Connection, qos: 0 | 1 | 2, length: number): Admittance {
    const admittance = this.#decide(connection.unsentBytes, qos, length);
    if (admittance === 'DROP') {
      this.dropped += 1;
      connection.counters.drop();
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

  #slowDown(publisher: Connection, bytes: number): () => void {
    publisher.flow.backpressure ??= new PublisherBackpressure(publisher);
    return publisher.flow.backpressure.began(bytes);
  }
}
