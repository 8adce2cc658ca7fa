import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { generate, type Packet, parser } from 'mqtt-packet';

/** An MQTT 3.1.1 connection without a client library, for load tests: the client must be faster than the broker. */
export class MqttWire {
  readonly #socket: Socket;
  #listener: (packet: Packet) => void = () => undefined;
  #isClosing = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    const packets = parser({ protocolVersion: 4 });
    packets.on('packet', (packet) => this.#listener(packet));
    socket.on('data', (data: Buffer) => packets.parse(data));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (!this.#isClosing) throw new Error('The broker closed a connection of the load');
    });
  }

  static async open(port: number, clientId: string): Promise<MqttWire> {
    const socket = connect(port, '127.0.0.1').setNoDelay(true);
    const wire = new MqttWire(socket);
    const connected = wire.#answer('connack');
    wire.send({ cmd: 'connect', clientId, clean: true, keepalive: 0 } as Packet);
    await connected;
    return wire;
  }

  /** Sets the listener for packets. It replaces the previous listener. */
  hear(listener: (packet: Packet) => void): void {
    this.#listener = listener;
  }

  send(packet: Packet): void {
    this.#socket.write(generate(packet));
  }

  /** Sends the packets that `fill` sends in one write. */
  together(fill: () => void): void {
    this.#socket.cork();
    fill();
    this.#socket.uncork();
  }

  /** Until the response, the listener receives no packets. */
  async subscribe(topic: string, qos: 0 | 1): Promise<void> {
    const done = this.#answer('suback');
    this.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic, qos }] });
    await done;
  }

  /** Until the response, the listener receives no packets. */
  async unsubscribe(topic: string): Promise<void> {
    const done = this.#answer('unsuback');
    this.send({ cmd: 'unsubscribe', messageId: 1, unsubscriptions: [topic] });
    await done;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    if (this.#socket.closed) return;
    const closed = once(this.#socket, 'close');
    this.#socket.destroy();
    await closed;
  }

  #answer(cmd: Packet['cmd']): Promise<void> {
    return new Promise((resolve) => {
      this.#listener = (packet) => {
        if (packet.cmd === cmd) resolve();
      };
    });
  }
}
