import { connect, type Socket } from 'node:net';
import { generate, type Packet } from 'mqtt-packet';

const PUBLISH = 3;
const MAX_ID = 65_535;

export interface Account {
  readonly username: string;
  readonly password: string;
}

/** Receives the numbers of PUBLISH packets and of other packets in a chunk of data. */
type FrameListener = (published: number, answers: number) => void;

/** An MQTT 3.1.1 connection that counts packets without parsing them. Only the payload of the last one can be read. */
export class FrameWire {
  readonly #socket: Socket;
  #listener: FrameListener = () => undefined;
  /** The received part of an incomplete packet. */
  #rest: Buffer | null = null;
  #last: Buffer = Buffer.alloc(0);
  #id = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (data: Buffer) => this.#count(data));
    socket.on('close', () => {
      throw new Error('The broker closed a connection of the load');
    });
  }

  static async open(port: number, clientId: string, account: Partial<Account> = {}): Promise<FrameWire> {
    const socket = connect(port, '127.0.0.1').setNoDelay(true);
    const wire = new FrameWire(socket);
    await wire.#ask({ cmd: 'connect', clientId, ...account, clean: true, keepalive: 0 } as unknown as Packet);
    return wire;
  }

  /** Sets the listener. It replaces the previous listener. */
  hear(listener: FrameListener): void {
    this.#listener = listener;
  }

  /** Subscribes at QoS 0. Until the response, the listener is not called. */
  subscribe(topic: string): Promise<void> {
    return this.#ask({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic, qos: 0 }] });
  }

  /** Until the response, the listener is not called. */
  unsubscribe(topic: string): Promise<void> {
    return this.#ask({ cmd: 'unsubscribe', messageId: 1, unsubscriptions: [topic] });
  }

  /** Returns a function that publishes `count` messages at QoS 1 in one write, with the payloads in turns. */
  publisher(topic: string, payloads: readonly string[]): (count: number) => void {
    const packets = payloads.map((payload) => {
      const bytes = generate({ cmd: 'publish', topic, payload, qos: 1, messageId: 1, dup: false, retain: false });
      // The packet id precedes the payload.
      return { bytes, idAt: bytes.length - Buffer.byteLength(payload) - 2 };
    });
    const longest = Math.max(...packets.map(({ bytes }) => bytes.length));
    let next = 0;
    return (count) => {
      const batch = Buffer.allocUnsafe(count * longest);
      let at = 0;
      for (let i = 0; i < count; i += 1) {
        const packet = packets[next++ % packets.length];
        if (!packet) return;
        this.#id = (this.#id % MAX_ID) + 1;
        packet.bytes.copy(batch, at);
        batch.writeUInt16BE(this.#id, at + packet.idAt);
        at += packet.bytes.length;
      }
      this.#socket.write(batch.subarray(0, at));
    };
  }

  /** Payload of the last message, which must have QoS 0. */
  lastPayload(): string {
    const frame = this.#last;
    let body = 1;
    while (((frame[body] ?? 0) & 0x80) !== 0) body += 1;
    return frame.subarray(body + 3 + frame.readUInt16BE(body + 1)).toString();
  }

  #ask(packet: Packet): Promise<void> {
    const answered = new Promise<void>((resolve) => {
      this.#listener = (_published, answers) => answers > 0 && resolve();
    });
    this.#socket.write(generate(packet));
    return answered;
  }

  #count(data: Buffer): void {
    const bytes = this.#rest === null ? data : Buffer.concat([this.#rest, data]);
    let at = 0;
    let [published, answers] = [0, 0];
    for (;;) {
      const end = frameEnd(bytes, at);
      if (end > bytes.length) break;
      if ((bytes[at] ?? 0) >> 4 === PUBLISH) {
        published += 1;
        this.#last = bytes.subarray(at, end);
      } else answers += 1;
      at = end;
    }
    this.#rest = at < bytes.length ? bytes.subarray(at) : null;
    this.#listener(published, answers);
  }
}

/** The end of the packet that starts at `at`; Infinity if its length is incomplete. */
function frameEnd(bytes: Buffer, at: number): number {
  let length = 0;
  for (let index = 1, factor = 1; at + index < bytes.length; index += 1, factor *= 128) {
    const byte = bytes[at + index] ?? 0;
    length += (byte & 0x7f) * factor;
    if (byte < 0x80) return at + index + 1 + length;
  }
  return Number.POSITIVE_INFINITY;
}
