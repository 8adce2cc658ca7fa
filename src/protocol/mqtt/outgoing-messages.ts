import { ServiceError } from '../../platform/errors.ts';
import { Fifo } from './fifo.ts';
import { IdTable } from './id-table.ts';
import type { PacketIds } from './packet-ids.ts';
import type { AnswerName } from './packet-reader.ts';
import { mostPublishBytes, type OutgoingPacket, type PacketWriter, PUBREL, publishBytes } from './packet-writer.ts';
import { publishRefusal } from './refused-packet.ts';

/** Called once, with null when the message was written (QoS 0) or taken by the broker (QoS 1 and 2). */
export type Taken = (error: ServiceError | null) => void;

interface Unanswered {
  readonly qos: 1 | 2;
  readonly done: Taken;
  /** Grows with each. */
  readonly number: number;
  /** Of the sweep before which it was sent. */
  readonly sweep: number;
}

/** What a connection takes; of the broker where it says so. */
export interface OutgoingLimits {
  /** Longest wait for an answer. */
  readonly timeoutMs: number;
  readonly version: 4 | 5;
  readonly receiveMaximum: number;
  /** Bytes of one packet. */
  readonly maximumPacketSize: number;
  /** Who publishes bounds what is on its way, and nothing is refused for being too much. */
  readonly isBoundedByCaller: boolean;
}

const MAX_WAITING = 10_000;
const MAX_UNSENT_BYTES = 64 * 1024 * 1024;
/** Sweeps in the time that an answer may take: it is missed within a quarter more than that. */
const SWEEPS = 4;
const LOST = 'The connection to the broker was lost';

/**
 * The publishes of one connection, in order. Not more of QoS 1 and 2 are on their way than the broker takes at once [MQTT-4.9.0-1]; what is
 * beyond waits. No promise and no timer for each: one sweep finds answers that are missed. What is too large for the broker is refused with
 * BROKER_REJECTED: it would end the connection.
 *
 * Bounds, unless the caller has its own: MAX_WAITING that wait or have no answer yet, MAX_UNSENT_BYTES that the broker has not read yet;
 * more are refused with BROKER_TIMEOUT.
 */
export class OutgoingMessages {
  readonly #writer: PacketWriter;
  readonly #ids: PacketIds;
  readonly #limits: OutgoingLimits;
  readonly #unanswered = new IdTable<Unanswered>();
  readonly #queue = new Fifo<{ readonly packet: OutgoingPacket; readonly done: Taken }>();
  #sent = 0;
  #sweep = 0;
  #timer: NodeJS.Timeout | null = null;
  #isOver = false;

  constructor(writer: PacketWriter, ids: PacketIds, limits: OutgoingLimits) {
    this.#writer = writer;
    this.#ids = ids;
    this.#limits = limits;
  }

  send(packet: OutgoingPacket, done: Taken): void {
    if (this.#isOver) {
      done(new ServiceError('BROKER_UNREACHABLE', LOST));
      return;
    }
    const refusal = this.#refusal(packet);
    if (refusal !== null) {
      done(refusal);
      return;
    }
    if (this.#queue.size === 0 && this.#goesOut(packet.qos)) {
      this.#write(packet, done);
      return;
    }
    this.#queue.push({ packet, done });
    this.#writer.skipPause();
  }

  /** Each PUBACK, PUBREC and PUBCOMP. */
  answered(name: AnswerName, id: number, reasonCode: number): void {
    const unanswered = this.#unanswered.get(id);
    if (!unanswered) return;
    if (reasonCode >= 0x80) this.#settle(id, unanswered, publishRefusal(reasonCode));
    else if (name === 'pubrec') this.#writer.acknowledge(PUBREL, id);
    else if (name === 'pubcomp' || unanswered.qos === 1) this.#settle(id, unanswered, null);
  }

  /** All that have no answer fail with BROKER_UNREACHABLE. */
  over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#timer) clearInterval(this.#timer);
    const unanswered = this.#inOrder().map(({ value }) => value);
    this.#unanswered.clear();
    for (const { done } of unanswered) done(new ServiceError('BROKER_UNREACHABLE', LOST));
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      next.done(new ServiceError('BROKER_UNREACHABLE', LOST));
    }
  }

  #refusal(packet: OutgoingPacket): ServiceError | null {
    const { isBoundedByCaller, maximumPacketSize, version } = this.#limits;
    const isTooMuch =
      this.#queue.size + this.#unanswered.size >= MAX_WAITING || this.#writer.pendingBytes > MAX_UNSENT_BYTES;
    if (isTooMuch && !isBoundedByCaller) {
      return new ServiceError('BROKER_TIMEOUT', 'The broker does not keep up: too much waits to be sent');
    }
    if (mostPublishBytes(packet) <= maximumPacketSize) return null;
    const bytes = publishBytes(packet, version);
    if (bytes <= maximumPacketSize) return null;
    const text = `The broker takes no packets of more than ${maximumPacketSize} bytes, and this one has ${bytes}`;
    return new ServiceError('BROKER_REJECTED', text);
  }

  #goesOut(qos: 0 | 1 | 2): boolean {
    return qos === 0 || this.#unanswered.size < this.#limits.receiveMaximum;
  }

  #write(packet: OutgoingPacket, done: Taken): void {
    const { qos } = packet;
    if (qos === 0) {
      this.#writer.publish(packet, 0, (error) =>
        done(error ? new ServiceError('BROKER_UNREACHABLE', LOST, { cause: error }) : null),
      );
      return;
    }
    // There are more ids than messages without an answer.
    const id = this.#ids.allocate() ?? 0;
    this.#sent += 1;
    this.#unanswered.set(id, { qos, done, number: this.#sent, sweep: this.#sweep });
    this.#timer ??= setInterval(() => this.#findMissed(), this.#limits.timeoutMs / SWEEPS);
    this.#writer.publish(packet, id);
  }

  #settle(id: number, { done }: Unanswered, error: ServiceError | null): void {
    this.#unanswered.delete(id);
    this.#ids.deallocate(id);
    done(error);
    this.#sendQueued();
  }

  #sendQueued(): void {
    for (let next = this.#queue.first; next; next = this.#queue.first) {
      if (!this.#goesOut(next.packet.qos)) {
        this.#writer.skipPause();
        break;
      }
      this.#queue.shift();
      this.#write(next.packet, next.done);
    }
  }

  /** Those without an answer, as they were sent. */
  #inOrder(): { readonly id: number; readonly value: Unanswered }[] {
    return this.#unanswered.entries().sort((a, b) => a.value.number - b.value.number);
  }

  #findMissed(): void {
    // What it has not read yet it cannot answer; that it is not there any more is seen by the signs of life.
    if (this.#writer.pendingBytes > 0) return;
    const { timeoutMs } = this.#limits;
    this.#sweep += 1;
    for (const { id, value: unanswered } of this.#inOrder()) {
      if (this.#sweep - unanswered.sweep <= SWEEPS) break;
      // Somebody who was told ended it all.
      if (this.#isOver) return;
      // An answer may come yet, which would be taken for another message's.
      this.#ids.keep(id);
      this.#unanswered.delete(id);
      const { done } = unanswered;
      done(new ServiceError('BROKER_TIMEOUT', `The broker sent no acknowledgement in ${timeoutMs} ms`));
    }
    this.#sendQueued();
    if (this.#unanswered.size > 0) return;
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }
}
