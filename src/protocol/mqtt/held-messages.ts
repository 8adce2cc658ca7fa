import type { BrokerMessage } from './broker-session.ts';
import { Fifo } from './fifo.ts';
import type { IncomingPublish } from './packet-reader.ts';
import { type PacketWriter, PUBACK, PUBCOMP, PUBREC } from './packet-writer.ts';

const NOTHING = (): void => undefined;
const NO_PAYLOAD = Buffer.alloc(0);

/** A message that the broker is told to be taken when nobody holds it any more. */
export class HeldMessage implements BrokerMessage {
  readonly topic: string;
  payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly id: number;
  properties: Buffer | undefined;
  /** The first one is who dispatches it. */
  #holders = 1;
  readonly #onReleased: () => void;

  constructor(packet: IncomingPublish, onReleased: () => void) {
    this.topic = packet.topic;
    this.payload = packet.payload;
    this.qos = packet.qos;
    this.retain = packet.retain;
    this.id = packet.messageId ?? 0;
    this.properties = packet.properties;
    this.#onReleased = onReleased;
  }

  get isReleased(): boolean {
    return this.#holders === 0;
  }

  /** See StreamMessage.hold. */
  hold(): () => void {
    if (this.qos === 0) return NOTHING;
    this.#holders += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.release();
    };
  }

  /** The share of who dispatched it, once. */
  release(): void {
    this.#holders -= 1;
    if (this.#holders > 0) return;
    // It may wait long behind another one that is held.
    if (this.qos > 0) {
      this.payload = NO_PAYLOAD;
      this.properties = undefined;
    }
    this.#onReleased();
  }
}

/**
 * The messages of one connection that the broker waits for an answer to. PUBACKs and PUBRECs go out in the order in which the
 * messages came [MQTT-4.6.0-2, 4.6.0-3], each when its message and all before it are released. After the connection nothing goes out: the
 * broker sends the messages again to the session's next one.
 *
 * Bound: what the broker may send without an answer (receive maximum), at most 65,535.
 */
export class HeldMessages {
  readonly #writer: PacketWriter;
  /** Ids of QoS 2 messages that were acknowledged and may be repeated until PUBREL; of the session, so it outlives the connection. */
  readonly #received: Set<number>;
  readonly #waiting = new Fifo<HeldMessage>();
  #isOver = false;

  constructor(writer: PacketWriter, received: Set<number>) {
    this.#writer = writer;
    this.#received = received;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** To be dispatched, and `release()`d then. Null: a message of QoS 2 that was taken before, which is told again. */
  arrived(packet: IncomingPublish): HeldMessage | null {
    const message = new HeldMessage(packet, this.#flush);
    if (message.qos === 0) return message;
    this.#waiting.push(message);
    if (message.qos === 1) return message;
    // Without DUP it is another message [MQTT-3.3.1-2]: a broker that drops what expired never sent PUBREL for the one before.
    if (!packet.dup) this.#received.delete(message.id);
    if (!this.#received.has(message.id)) return message;
    message.release();
    return null;
  }

  /** PUBREL, which is answered: the id may be that of another message from now on. */
  forgotten(id: number): void {
    this.#received.delete(id);
    this.#writer.acknowledge(PUBCOMP, id);
  }

  over(): void {
    this.#isOver = true;
    this.#waiting.clear();
  }

  readonly #flush = (): void => {
    if (this.#isOver) return;
    for (let next = this.#waiting.first; next?.isReleased; next = this.#waiting.first) {
      this.#waiting.shift();
      if (next.qos === 2) this.#received.add(next.id);
      this.#writer.acknowledge(next.qos === 2 ? PUBREC : PUBACK, next.id);
    }
  };
}
