import { createConnection } from 'node:net';
import { parser as createParser, generate, type IConnectPacket, type Packet } from 'mqtt-packet';
import { onTestFinished } from 'vitest';
import { ADMINISTRATOR } from './embedded.ts';

/**
 * A client that acknowledges nothing by itself, by default of MQTT 5. It subscribes to `filter` with QoS 2. `connect`:
 * fields of CONNECT, or the whole packet.
 */
export async function rawClient(port: number, connect: Partial<IConnectPacket> | Buffer, filter?: string) {
  const connectFields = Buffer.isBuffer(connect) ? {} : connect;
  const { protocolVersion = 5 } = connectFields;
  const socket = createConnection(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const parser = createParser({ protocolVersion });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => {
    chunks.push(chunk);
    parser.parse(chunk);
  });
  // Those that were sent when the broker ends the connection fail.
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => void socket.once('close', () => resolve()));
  const packets: Packet[] = [];
  const counts = new Map<string, number>();
  const count = (cmd: string) => counts.get(cmd) ?? 0;
  let check = () => {};
  parser.on('packet', (packet) => {
    packets.push(packet);
    counts.set(packet.cmd, count(packet.cmd) + 1);
    check();
  });
  void closed.then(() => check());
  const packet = (fields: Packet) => generate(fields, { protocolVersion });
  const send = (fields: Packet) => socket.write(packet(fields));
  /** Rejects if the connection is closed before. */
  const until = (cmd: string, number: number) =>
    new Promise<void>((resolve, reject) => {
      check = () => {
        if (count(cmd) >= number) resolve();
        else if (socket.closed) reject(new Error(`closed after ${count(cmd)} of ${number} ${cmd}`));
      };
      check();
    });
  const { username, password } = ADMINISTRATOR;
  const protocol = { protocolId: 'MQTT', protocolVersion, keepalive: 0 } as const;
  if (Buffer.isBuffer(connect)) socket.write(connect);
  else {
    const login = { username, password: Buffer.from(password) };
    send({ cmd: 'connect', clientId: 'raw', clean: true, ...login, ...protocol, ...connectFields });
  }
  await until('connack', 1);
  if (filter !== undefined) {
    send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: filter, qos: 2, nl: false, rap: false, rh: 0 }] });
    await until('suback', 1);
  }
  /**
   * Ends when the broker answers and has sent nothing else meanwhile. What the client acknowledges meanwhile lets the
   * broker send more.
   */
  const settle = async () => {
    for (let before = -1; packets.length > before; ) {
      before = packets.length + 1;
      send({ cmd: 'pingreq' });
      await until('pingresp', count('pingresp') + 1);
    }
  };
  const write = (bytes: Buffer) => socket.write(bytes);
  const leave = async () => {
    socket.destroy();
    await closed;
  };
  /** Calls with every packet that came, and with each that comes. */
  const each = (listener: (packet: Packet) => void) => {
    packets.forEach(listener);
    parser.on('packet', listener);
  };
  const bytes = () => Buffer.concat(chunks);
  const pause = () => void socket.pause();
  const resume = () => void socket.resume();
  return { packets, bytes, packet, write, send, count, until, settle, leave, closed, each, pause, resume };
}
