import { connect, type Socket } from 'node:net';
import { generate, type IConnectPacket, type Packet, parser } from 'mqtt-packet';

/** A minimal MQTT connection, so that one process can have thousands. Waits for the response to each packet. */
export interface RawClient {
  /** Whether the broker had a session. */
  readonly sessionPresent: boolean;
  /** Resolves when the connection has ended, on either side. */
  readonly closed: Promise<void>;
  /** Returns the granted QoS, or a failure code from 128 on. */
  subscribe(filter: string, qos: 0 | 1 | 2): Promise<number>;
  unsubscribe(filter: string): Promise<void>;
  /** With DISCONNECT; resolves when the broker has closed. */
  disconnect(): Promise<void>;
  /** Without DISCONNECT. */
  destroy(): void;
}

interface RawClientOptions {
  readonly port: number;
  readonly clientId: string;
  readonly account: { readonly username: string; readonly password: string } | null;
  readonly protocolVersion: 4 | 5;
  /** Clean Session, or Clean Start of MQTT 5. */
  readonly clean: boolean;
  /** MQTT 5, seconds. */
  readonly expirySeconds: number;
  /** Seconds. The client sends no PINGREQ, so a short keepalive is exceeded. */
  readonly keepalive: number;
  /** Address of the client's side. */
  readonly localAddress?: string;
}

export async function dialMqtt(options: RawClientOptions): Promise<RawClient> {
  const { port, localAddress } = options;
  const socket = connect({ port, host: '127.0.0.1', ...(localAddress === undefined ? {} : { localAddress }) });
  socket.setNoDelay(true);
  const connection = new RawConnection(socket, options.protocolVersion);
  await connection.open(options);
  return connection;
}

class RawConnection implements RawClient {
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #version: 4 | 5;
  /** What the next answer is for: one request at a time. */
  #answered: ((packet: Packet) => void) | null = null;
  #failed: ((error: Error) => void) | null = null;
  #lastId = 0;
  sessionPresent = false;

  constructor(socket: Socket, version: 4 | 5) {
    this.#socket = socket;
    this.#version = version;
    const packets = parser({ protocolVersion: version });
    packets.on('packet', (packet: Packet) => this.#answered?.(packet));
    packets.on('error', (error: Error) => socket.destroy(error));
    socket.on('data', (data) => packets.parse(data));
    let failure = new Error('The broker ended the connection');
    socket.on('error', (error) => {
      failure = error;
    });
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#failed?.(failure);
        resolve();
      });
    });
  }

  async open({ clientId, account, clean, expirySeconds, keepalive }: RawClientOptions): Promise<void> {
    const packet: IConnectPacket = {
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: this.#version,
      clientId,
      clean,
      keepalive,
      ...(account ? { username: account.username, password: Buffer.from(account.password) } : {}),
      ...(this.#version === 5 ? { properties: { sessionExpiryInterval: expirySeconds } } : {}),
    };
    const answer = await this.#ask(packet);
    const code = answer.cmd === 'connack' ? (answer.returnCode ?? answer.reasonCode ?? 0) : -1;
    if (answer.cmd !== 'connack' || code !== 0) {
      this.destroy();
      throw new Error(`"${clientId}" was refused: ${code}`);
    }
    this.sessionPresent = answer.sessionPresent;
  }

  async subscribe(filter: string, qos: 0 | 1 | 2): Promise<number> {
    const subscriptions = [{ topic: filter, qos, nl: false, rap: false, rh: 0 }];
    const answer = await this.#ask({ cmd: 'subscribe', messageId: this.#nextId(), subscriptions });
    return answer.cmd === 'suback' ? Number(answer.granted[0]) : -1;
  }

  async unsubscribe(filter: string): Promise<void> {
    await this.#ask({ cmd: 'unsubscribe', messageId: this.#nextId(), unsubscriptions: [filter] });
  }

  async disconnect(): Promise<void> {
    this.#socket.end(generate({ cmd: 'disconnect' }, { protocolVersion: this.#version }));
    await this.closed;
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #nextId(): number {
    this.#lastId = (this.#lastId % 65_535) + 1;
    return this.#lastId;
  }

  async #ask(packet: Packet): Promise<Packet> {
    try {
      return await new Promise((resolve, reject) => {
        this.#answered = resolve;
        this.#failed = reject;
        this.#socket.write(generate(packet, { protocolVersion: this.#version }));
      });
    } finally {
      this.#answered = null;
      this.#failed = null;
    }
  }
}
