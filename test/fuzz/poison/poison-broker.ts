import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { generate, type Packet, parser } from 'mqtt-packet';
import { onTestFinished } from '../../support/shared.ts';

/** A message as bytes: what it consists of need not be valid. */
export interface RawMessage {
  readonly topic: Buffer;
  readonly payload: Buffer;
  /** Encoded properties without their length. Default: none. */
  readonly properties?: Buffer;
  readonly retain?: boolean;
  readonly dup?: boolean;
}

/** A message that arrived at the broker. */
interface Published {
  readonly topic: string;
  readonly payload: string;
}

/**
 * A broker of MQTT 5 that passes on any bytes, as brokers do that do not validate texts. It grants all subscriptions
 * and acknowledges all messages, and sends its own messages to the client that subscribed last.
 */
export class PoisonBroker {
  readonly url: string;
  #subscriber: Socket | null = null;
  #subscribed: () => void = () => {};
  readonly #acknowledged = new Map<number, (isTaken: boolean) => void>();
  readonly #sockets = new Set<Socket>();
  #isAway = false;
  #lastId = 0;
  /** Called for each message that arrives. */
  onPublished: (message: Published) => void = () => {};

  private constructor(port: number) {
    this.url = `mqtt://127.0.0.1:${port}`;
  }

  static async start(): Promise<PoisonBroker> {
    const server = createServer((socket) => broker.#serve(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const broker = new PoisonBroker((server.address() as AddressInfo).port);
    onTestFinished(() => {
      broker.setAway(true);
      server.close();
    });
    return broker;
  }

  /** Closes all connections, and accepts no others until it is called with `false`. */
  setAway(isAway: boolean): void {
    this.#isAway = isAway;
    if (isAway) for (const socket of this.#sockets) socket.destroy();
  }

  /** Resolves while a client has subscribed. */
  subscribed(): Promise<void> {
    return new Promise((resolve) => {
      this.#subscribed = resolve;
      if (this.#subscriber !== null) resolve();
    });
  }

  /** Sends a message with QoS 1. Returns whether it was acknowledged; otherwise the connection was closed. */
  send({ topic, payload, properties = Buffer.alloc(0), retain = false, dup = false }: RawMessage): Promise<boolean> {
    const socket = this.#subscriber;
    if (socket === null) return Promise.resolve(false);
    this.#lastId = (this.#lastId % 65_535) + 1;
    const id = this.#lastId;
    const first = 0x32 | (retain ? 1 : 0) | (dup ? 8 : 0);
    const length = variable(properties.length);
    const body = Buffer.concat([uint16(topic.length), topic, uint16(id), length, properties, payload]);
    socket.write(Buffer.concat([Buffer.of(first), variable(body.length), body]));
    return new Promise((resolve) => {
      this.#acknowledged.set(id, resolve);
    });
  }

  #serve(socket: Socket): void {
    if (this.#isAway) socket.destroy();
    this.#sockets.add(socket);
    const packets = parser({ protocolVersion: 5 });
    const send = (packet: Packet) => socket.write(generate(packet, { protocolVersion: 5 }));
    socket.on('error', () => {});
    socket.on('data', (data) => packets.parse(data));
    socket.once('close', () => {
      this.#sockets.delete(socket);
      if (this.#subscriber !== socket) return;
      this.#subscriber = null;
      for (const resolve of this.#acknowledged.values()) resolve(false);
      this.#acknowledged.clear();
    });
    packets.on('error', () => socket.destroy());
    packets.on('packet', (packet) => {
      const messageId = packet.messageId ?? 1;
      if (packet.cmd === 'connect') send({ cmd: 'connack', returnCode: 0, reasonCode: 0, sessionPresent: false });
      if (packet.cmd === 'pingreq') send({ cmd: 'pingresp' });
      if (packet.cmd === 'unsubscribe')
        send({ cmd: 'unsuback', messageId, granted: packet.unsubscriptions.map(() => 0) });
      if (packet.cmd === 'puback') {
        this.#acknowledged.get(messageId)?.(true);
        this.#acknowledged.delete(messageId);
      }
      if (packet.cmd === 'publish') {
        if (packet.qos === 1) send({ cmd: 'puback', messageId });
        this.onPublished({ topic: packet.topic, payload: packet.payload.toString() });
      }
      if (packet.cmd !== 'subscribe') return;
      send({ cmd: 'suback', messageId, granted: packet.subscriptions.map(({ qos }) => qos) });
      // Of messages, and not only of what brokers report themselves.
      if (packet.subscriptions.some(({ topic }) => topic.startsWith('$'))) return;
      this.#subscriber = socket;
      this.#subscribed();
    });
  }
}

export const uint16 = (value: number): Buffer => Buffer.of(value >> 8, value & 0xff);

function variable(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  do {
    bytes.push((rest % 128) | (rest >= 128 ? 0x80 : 0));
    rest = Math.floor(rest / 128);
  } while (rest > 0);
  return Buffer.from(bytes);
}
