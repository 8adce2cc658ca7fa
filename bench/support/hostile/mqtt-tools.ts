/** MQTT for attackers: packets and bytes on a socket, without the checks of a client library. */
import { connect, type Socket } from 'node:net';
import { generate, type IConnectPacket, type Packet, parser } from 'mqtt-packet';

interface MqttAddress {
  readonly host: string;
  readonly mqttPort: number;
  /** Local address. Default: selected by the system. */
  readonly from?: string;
}

export type ConnectFields = Partial<Omit<IConnectPacket, 'password'>> & { readonly password?: string };

/** How a broker refused a CONNECT: the code of its CONNACK, or a closed connection. */
export class Refused extends Error {}

const CONNACK_TIMEOUT_MS = 10_000;

/** Opens a socket whose errors are ignored, because the service may close hostile connections at any time. */
export function openSocket(host: string, port: number, from?: string): Socket {
  const socket = connect({ host, port, ...(from !== undefined && { localAddress: from }) });
  socket.on('error', () => undefined);
  return socket;
}

/** Resolves when the broker has closed the socket, or after `milliseconds`. Then destroys the socket. */
export function closedWithin(socket: Socket, milliseconds: number): Promise<'closed' | 'still open'> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      socket.destroy();
      resolve('still open');
    }, milliseconds);
    const closed = () => {
      clearTimeout(timer);
      resolve('closed');
    };
    if (socket.closed) closed();
    else socket.once('close', closed);
  });
}

export class MqttConnection {
  readonly socket: Socket;
  readonly #version: 4 | 5;
  readonly #waiting = new Map<number, () => void>();
  #nextId = 1;

  constructor(socket: Socket, version: 4 | 5) {
    this.socket = socket;
    this.#version = version;
  }

  received(packet: Packet): void {
    if ((packet.cmd === 'puback' || packet.cmd === 'suback') && packet.messageId !== undefined) {
      this.#waiting.get(packet.messageId)?.();
      this.#waiting.delete(packet.messageId);
    }
  }

  send(packet: Packet): boolean {
    return this.socket.write(generate(packet, { protocolVersion: this.#version }));
  }

  onClose(listener: () => void): void {
    this.socket.once('close', listener);
  }

  async publish(topic: string, payload: string | Buffer, qos: 0 | 1): Promise<void> {
    const messageId = qos === 0 ? undefined : this.#id();
    const done = messageId === undefined ? undefined : this.#acknowledged(messageId);
    this.send({ cmd: 'publish', topic, payload, qos, dup: false, retain: false, messageId } as Packet);
    await done;
  }

  async subscribe(...topics: readonly string[]): Promise<void> {
    const messageId = this.#id();
    const done = this.#acknowledged(messageId);
    this.send({ cmd: 'subscribe', messageId, subscriptions: topics.map((topic) => ({ topic, qos: 0 as const })) });
    await done;
  }

  #acknowledged(messageId: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(messageId, resolve);
      this.socket.once('close', () => reject(new Error('the broker closed the connection')));
    });
  }

  #id(): number {
    this.#nextId = (this.#nextId % 65_535) + 1;
    return this.#nextId;
  }
}

export function connectPacket({ password, ...fields }: ConnectFields): Packet {
  const protocolVersion = fields.protocolVersion ?? 4;
  return {
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion,
    clean: true,
    keepalive: 0,
    clientId: '',
    ...fields,
    ...(password !== undefined && { password: Buffer.from(password) }),
  } as Packet;
}

/** Errors: Refused. */
export function openMqtt({ host, mqttPort, from }: MqttAddress, fields: ConnectFields): Promise<MqttConnection> {
  const version = fields.protocolVersion === 5 ? 5 : 4;
  const socket = openSocket(host, mqttPort, from).setNoDelay(true).setMaxListeners(0);
  const connection = new MqttConnection(socket, version);
  const packets = parser({ protocolVersion: version });
  socket.on('data', (data: Buffer) => packets.parse(data));
  packets.on('error', () => socket.destroy());
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail('no CONNACK in 10 s'), CONNACK_TIMEOUT_MS);
    const fail = (reason: string) => {
      clearTimeout(timer);
      socket.destroy();
      reject(new Refused(reason));
    };
    const closed = () => fail('closed before CONNACK');
    socket.once('close', closed);
    packets.on('packet', (packet) => {
      if (packet.cmd !== 'connack') return connection.received(packet);
      const code = packet.returnCode ?? packet.reasonCode ?? 0;
      if (code !== 0) return fail(`CONNACK ${code}`);
      clearTimeout(timer);
      socket.off('close', closed);
      return resolve(connection);
    });
    socket.once('connect', () => connection.send(connectPacket(fields)));
  });
}
