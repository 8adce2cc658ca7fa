import { ServiceError } from '../../platform/errors.ts';
import { Fifo } from './fifo.ts';
import { IdTable } from './id-table.ts';
import type { PacketIds } from './packet-ids.ts';
import type { AcknowledgementName } from './packet-reader.ts';
import { maxPublishBytes, type OutgoingPacket, type PacketWriter, PUBREL, publishBytes } from './packet-writer.ts';
import { publishRefusal } from './refused-packet.ts';

/**
 * Called once, with `null` when the message was written (QoS 0) or acknowledged (QoS 1 and 2). `reasonCode`: of PUBACK
 * or PUBREC (MQTT 5).
 */
export type Published = (error: ServiceError | null, reasonCode?: number) => void;

interface Unacknowledged {
  readonly qos: 1 | 2;
  readonly done: Published;
  readonly number: number;
  readonly sweep: number;
  /** Of PUBREC; PUBCOMP has another meaning. */
  received: number;
}

export interface OutgoingLimits {
  readonly timeoutMs: number;
  readonly version: 4 | 5;
  readonly receiveMaximum: number;
  readonly maximumPacketSize: number;
  /** Whether the caller bounds its messages, so that none is refused because too many wait. */
  readonly isBoundedByCaller: boolean;
}

const MAX_WAITING = 10_000;
const MAX_UNSENT_BYTES = 64 * 1024 * 1024;
/** Sweeps per `timeoutMs`: a missing acknowledgement is noticed at most a quarter of it later. */
const SWEEPS = 4;
const LOST = 'The connection to the broker was lost';

/**
 * The outgoing messages of one connection, in order. At most Receive Maximum messages of QoS 1 and 2 are unacknowledged
 * [MQTT-4.9.0-1]; further ones are queued. There is no promise or timer per message: a periodic sweep finds missing
 * acknowledgements. Packets above the broker's Maximum Packet Size are BROKER_REJECTED.
 *
 * Bounds, unless `isBoundedByCaller`: MAX_WAITING messages, MAX_UNSENT_BYTES that the broker has not read. Further
 * messages are refused with BROKER_TIMEOUT.
 */
export class OutgoingMessages {
  readonly #writer: PacketWriter;
  readonly #ids: PacketIds;
  readonly #limits: OutgoingLimits;
  readonly #unacknowledged = new IdTable<Unacknowledged>();
  readonly #queue = new Fifo<{ readonly packet: OutgoingPacket; readonly done: Published }>();
  #sent = 0;
  #sweep = 0;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(writer: PacketWriter, ids: PacketIds, limits: OutgoingLimits) {
    this.#writer = writer;
    this.#ids = ids;
    this.#limits = limits;
  }

  send(packet: OutgoingPacket, done: Published): void {
    if (this.#isClosed) {
      done(new ServiceError('BROKER_UNREACHABLE', LOST));
      return;
    }
    const refusal = this.#refusal(packet);
    if (refusal !== null) {
      done(refusal);
      return;
    }
    if (this.#queue.size === 0 && this.#canSend(packet.qos)) {
      this.#write(packet, done);
      return;
    }
    this.#queue.push({ packet, done });
    this.#writer.skipPause();
  }

  acknowledged(name: AcknowledgementName, id: number, reasonCode: number): void {
    const unacknowledged = this.#unacknowledged.get(id);
    if (!unacknowledged) return;
    if (reasonCode >= 0x80) this.#settle(id, unacknowledged, publishRefusal(reasonCode));
    else if (name === 'pubrec') {
      unacknowledged.received = reasonCode;
      this.#writer.acknowledge(PUBREL, id);
    } else if (name === 'pubcomp') this.#settle(id, unacknowledged, null, unacknowledged.received);
    else if (unacknowledged.qos === 1) this.#settle(id, unacknowledged, null, reasonCode);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#timer) clearInterval(this.#timer);
    const unacknowledged = this.#inOrder().map(({ value }) => value);
    this.#unacknowledged.clear();
    for (const { done } of unacknowledged) done(new ServiceError('BROKER_UNREACHABLE', LOST));
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      next.done(new ServiceError('BROKER_UNREACHABLE', LOST));
    }
  }

  #refusal(packet: OutgoingPacket): ServiceError | null {
    const { isBoundedByCaller, maximumPacketSize, version } = this.#limits;
    const isTooMuch =
      this.#queue.size + this.#unacknowledged.size >= MAX_WAITING || this.#writer.pendingBytes > MAX_UNSENT_BYTES;
    if (isTooMuch && !isBoundedByCaller) {
      return new ServiceError('BROKER_TIMEOUT', 'The broker is too slow: too many messages wait to be sent');
    }
    if (maxPublishBytes(packet) <= maximumPacketSize) return null;
    const bytes = publishBytes(packet, version);
    if (bytes <= maximumPacketSize) return null;
    const text = `The broker accepts packets of at most ${maximumPacketSize} bytes; this one has ${bytes}`;
    return new ServiceError('BROKER_REJECTED', text);
  }

  #canSend(qos: 0 | 1 | 2): boolean {
    return qos === 0 || this.#unacknowledged.size < this.#limits.receiveMaximum;
  }

  #write(packet: OutgoingPacket, done: Published): void {
    const { qos } = packet;
    if (qos === 0) {
      this.#writer.publish(packet, 0, (error) =>
        done(error ? new ServiceError('BROKER_UNREACHABLE', LOST, { cause: error }) : null),
      );
      return;
    }
    // Receive Maximum is at most 65,535, so an identifier is free.
    const id = this.#ids.allocate() ?? 0;
    this.#sent += 1;
    this.#unacknowledged.set(id, { qos, done, number: this.#sent, sweep: this.#sweep, received: 0 });
    this.#timer ??= setInterval(() => this.#findOverdue(), this.#limits.timeoutMs / SWEEPS);
    this.#writer.publish(packet, id);
  }

  #settle(id: number, { done }: Unacknowledged, error: ServiceError | null, reasonCode?: number): void {
    this.#unacknowledged.delete(id);
    this.#ids.deallocate(id);
    done(error, this.#limits.version === 5 ? reasonCode : undefined);
    this.#sendQueued();
  }

  #sendQueued(): void {
    for (let next = this.#queue.first; next; next = this.#queue.first) {
      if (!this.#canSend(next.packet.qos)) {
        this.#writer.skipPause();
        break;
      }
      this.#queue.shift();
      this.#write(next.packet, next.done);
    }
  }

  #inOrder() {
    return this.#unacknowledged.entries().sort((a, b) => a.value.number - b.value.number);
  }

  #findOverdue(): void {
    // The broker cannot acknowledge what it has not read yet. The keepalive detects a broker that is gone.
    if (this.#writer.pendingBytes > 0) return;
    const { timeoutMs } = this.#limits;
    this.#sweep += 1;
    for (const { id, value: unacknowledged } of this.#inOrder()) {
      if (this.#sweep - unacknowledged.sweep <= SWEEPS) break;
      // A callback may have closed the connection.
      if (this.#isClosed) return;
      // A late acknowledgement must not be taken for one of another message.
      this.#ids.retire(id);
      this.#unacknowledged.delete(id);
      const { done } = unacknowledged;
      done(new ServiceError('BROKER_TIMEOUT', `The broker sent no acknowledgement in ${timeoutMs} ms`));
    }
    this.#sendQueued();
    if (this.#unacknowledged.size > 0) return;
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }
}
