import { once } from 'node:events';
import { connect as dial, type Socket } from 'node:net';
import { generate, type Packet, parser } from 'mqtt-packet';

interface WireOptions {
  readonly port: number;
  /** The address from which it connects, below 127.0.0.0/8. */
  readonly localAddress?: string;
  readonly protocolVersion: 4 | 5;
  readonly clientId: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** False: the session outlives the connection. */
  readonly clean: boolean;
}

/**
 * An MQTT client that sends only requested packets, including invalid topic filters, and returns acknowledgements with
 * all reason codes.
 */
export class WireClient {
  readonly received: { readonly topic: string; readonly payload: string }[] = [];
  readonly #socket: Socket;
  readonly #version: 4 | 5;
  readonly #arrivals = new Map<string, () => void>();
  readonly #waiting = new Map<string, (packet: Packet) => void>();
  #nextId = 1;

  /** Null: the broker refused the connection. */
  static async connect(options: WireOptions): Promise<WireClient | null> {
    const { port, localAddress = '127.0.0.1' } = options;
    const socket = dial({ port, host: '127.0.0.1', localAddress });
    socket.setNoDelay(true);
    await once(socket, 'connect');
    const client = new WireClient(socket, options.protocolVersion);
    const connack = await client.#ask('connack', {
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: options.protocolVersion,
      clientId: options.clientId,
      clean: options.clean,
      keepalive: 0,
      ...(options.username === undefined ? {} : { username: options.username }),
      ...(options.password === undefined ? {} : { password: Buffer.from(options.password) }),
      ...(options.protocolVersion === 5 && !options.clean ? { properties: { sessionExpiryInterval: 3600 } } : {}),
    } as Packet);
    const { reasonCode, returnCode } = connack as { reasonCode?: number; returnCode?: number };
    if ((reasonCode ?? returnCode ?? 0) === 0) return client;
    socket.destroy();
    return null;
  }

  private constructor(socket: Socket, version: 4 | 5) {
    this.#socket = socket;
    this.#version = version;
    const packets = parser({ protocolVersion: version });
    packets.on('packet', (packet: Packet) => {
      if (packet.cmd === 'publish') {
        this.received.push({ topic: packet.topic, payload: packet.payload.toString() });
        this.#arrivals.get(packet.topic)?.();
        return;
      }
      const key = keyOf(packet.cmd, packet.messageId);
      this.#waiting.get(key)?.(packet);
      this.#waiting.delete(key);
    });
    packets.on('error', (error: Error) => socket.destroy(error));
    socket.on('data', (data) => packets.parse(data));
    socket.on('error', () => undefined);
  }

  /** The reason code of the PUBACK; 0 where MQTT 3.1.1 has none. */
  async publish(topic: string, payload: string): Promise<number> {
    const messageId = this.#id();
    const packet = { cmd: 'publish', topic, payload, qos: 1, retain: false, dup: false, messageId } as const;
    const puback = (await this.#ask('puback', packet, messageId)) as { reasonCode?: number };
    return puback.reasonCode ?? 0;
  }

  /** The granted QoS, or 128 and above where it was refused. */
  async subscribe(...filters: string[]): Promise<number[]> {
    const messageId = this.#id();
    const subscriptions = filters.map((topic) => ({ topic, qos: 0 as const, nl: false, rap: false, rh: 2 }));
    const suback = await this.#ask('suback', { cmd: 'subscribe', messageId, subscriptions }, messageId);
    return (suback as { granted: number[] }).granted;
  }

  /** The reason code; undefined where MQTT 3.1.1 has none. */
  async unsubscribe(filter: string): Promise<number | undefined> {
    const messageId = this.#id();
    const unsuback = await this.#ask(
      'unsuback',
      { cmd: 'unsubscribe', messageId, unsubscriptions: [filter] },
      messageId,
    );
    return (unsuback as { granted?: number[] }).granted?.[0];
  }

  /** Once answered, everything that the broker had sent before has arrived. */
  async ping(): Promise<void> {
    await this.#ask('pingresp', { cmd: 'pingreq' });
  }

  /** The next message on this topic has arrived. */
  async next(topic: string): Promise<void> {
    await new Promise<void>((resolve) => this.#arrivals.set(topic, resolve));
    this.#arrivals.delete(topic);
  }

  async end(): Promise<void> {
    if (this.#socket.destroyed) return;
    const closed = once(this.#socket, 'close');
    this.#socket.end(generate({ cmd: 'disconnect' }, { protocolVersion: this.#version }));
    await closed;
  }

  #id(): number {
    this.#nextId = (this.#nextId % 65_535) + 1;
    return this.#nextId;
  }

  #ask(answer: string, packet: Packet, messageId?: number): Promise<Packet> {
    return new Promise((resolve, reject) => {
      const closed = () => reject(new Error(`closed instead of ${answer} to ${JSON.stringify(packet)}`));
      this.#socket.once('close', closed);
      this.#waiting.set(keyOf(answer, messageId), (packet) => {
        this.#socket.off('close', closed);
        resolve(packet);
      });
      this.#socket.write(generate(packet, { protocolVersion: this.#version }));
    });
  }
}

const keyOf = (cmd: string, messageId: number | undefined) => `${cmd} ${messageId ?? ''}`;
