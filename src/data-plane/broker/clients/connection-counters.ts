import type { Traffic } from '../store/session.ts';

/** What a connection has received and sent. Plain fields, which only these methods change: every message counts. */
export class ConnectionCounters implements Traffic {
  published = 0;
  publishedBytes = 0;
  delivered = 0;
  deliveredBytes = 0;
  /** Messages of QoS 0 that were dropped because the client reads too slowly. */
  dropped = 0;
  packetsIn = 0;
  /** Number of packets sent to the client except PUBLISH. Each responds to one received packet. */
  responses = 0;
  /** When the last packet arrived, CONNACK was sent, or the connection was opened: milliseconds of `performance`. */
  lastPacketAt = Math.trunc(performance.now());
  /** Publishes that are not on disk or not delivered yet, and their payload bytes; then the same for QoS 2. */
  pendingCommits = 0;
  pendingBytes = 0;
  pendingQos2 = 0;
  pendingQos2Bytes = 0;

  get traffic(): Traffic {
    const { published, publishedBytes, delivered, deliveredBytes } = this;
    return { published, publishedBytes, delivered, deliveredBytes };
  }

  /** The client is not silent. */
  alive(): void {
    this.lastPacketAt = Math.trunc(performance.now());
  }

  packet(isAnswered: boolean): void {
    this.packetsIn += 1;
    if (isAnswered) this.responses += 1;
  }

  publish(bytes: number): void {
    this.published += 1;
    this.publishedBytes += bytes;
  }

  delivery(bytes: number): void {
    this.delivered += 1;
    this.deliveredBytes += bytes;
  }

  drop(): void {
    this.dropped += 1;
  }

  /** `sign`: 1 when a publish begins to wait for the disk, -1 when it was delivered. */
  pending(qos: 0 | 1 | 2, bytes: number, sign: 1 | -1): void {
    this.pendingCommits += sign;
    this.pendingBytes += sign * bytes;
    if (qos !== 2) return;
    this.pendingQos2 += sign;
    this.pendingQos2Bytes += sign * bytes;
  }
}
