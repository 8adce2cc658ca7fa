import type { BrokerMessage } from './broker-session.ts';
import { Fifo } from './fifo.ts';
import type { PacketOrder } from './packet-order.ts';
import type { IncomingPublish } from './packet-reader.ts';
import { type PacketWriter, PUBACK, PUBCOMP, PUBREC } from './packet-writer.ts';

const NOTHING = (): void => undefined;
const NO_PAYLOAD = Buffer.alloc(0);

export class BufferedMessage implements BrokerMessage {
  readonly topic: string;
  payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly id: number;
  readonly isRepeated: boolean;
  readonly gapsBefore: number;
  properties: Buffer | undefined;
  /** The dispatcher is the first holder. */
  #holders = 1;
  readonly #onReleased: () => void;

  constructor(packet: IncomingPublish, order: PacketOrder | null, onReleased: () => void) {
    this.topic = packet.topic;
    this.payload = packet.payload;
    this.qos = packet.qos;
    this.retain = packet.retain;
    this.id = packet.messageId ?? 0;
    const isKnown = this.qos > 0 && order?.received(this.id) === true;
    this.isRepeated = isKnown && packet.dup;
    this.gapsBefore = order?.gaps ?? 0;
    this.properties = packet.properties;
    this.#onReleased = onReleased;
  }

  get isReleased(): boolean {
    return this.#holders === 0;
  }

  hold(): () => void {
    if (this.qos === 0) return NOTHING;
    this.#holders += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.release();
    };
  }

  release(): void {
    this.#holders -= 1;
    if (this.#holders > 0) return;
    // Frees the memory now: the acknowledgement may wait for earlier messages.
    if (this.qos > 0) {
      this.payload = NO_PAYLOAD;
      this.properties = undefined;
    }
    this.#onReleased();
  }
}

/**
 * The unacknowledged incoming messages of one connection. PUBACK and PUBREC are sent in the order of the messages
 * [MQTT-4.6.0-2, 4.6.0-3], each when its message and all earlier ones are released.
 *
 * Bound: the Receive Maximum sent to the broker, at most 65,535.
 */
export class BufferedMessages {
  readonly #writer: PacketWriter;
  /** Identifiers of QoS 2 messages between PUBREC and PUBREL, which outlive the connection. */
  readonly #acknowledged: Set<number>;
  readonly #order: PacketOrder | null;
  readonly #waiting = new Fifo<BufferedMessage>();
  #isClosed = false;

  /** @param order `null`: repeated and dropped messages are not noticed */
  constructor(writer: PacketWriter, acknowledged: Set<number>, order: PacketOrder | null = null) {
    this.#writer = writer;
    this.#acknowledged = acknowledged;
    this.#order = order;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** The caller dispatches and releases the message. `null`: a QoS 2 message that was dispatched before. */
  received(packet: IncomingPublish): BufferedMessage | null {
    const message = new BufferedMessage(packet, this.#order, this.#flush);
    if (message.qos === 0) return message;
    this.#waiting.push(message);
    if (message.qos === 1) return message;
    // Without DUP it is a new message [MQTT-3.3.1-2]: a broker may drop an expired message without sending PUBREL.
    if (!packet.dup) this.#acknowledged.delete(message.id);
    if (!this.#acknowledged.has(message.id)) return message;
    message.release();
    return null;
  }

  released(id: number): void {
    this.#acknowledged.delete(id);
    this.#writer.acknowledge(PUBCOMP, id);
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting.clear();
  }

  readonly #flush = (): void => {
    if (this.#isClosed) return;
    for (let next = this.#waiting.first; next?.isReleased; next = this.#waiting.first) {
      this.#waiting.shift();
      if (next.qos === 2) this.#acknowledged.add(next.id);
      this.#writer.acknowledge(next.qos === 2 ? PUBREC : PUBACK, next.id);
    }
  };
}
