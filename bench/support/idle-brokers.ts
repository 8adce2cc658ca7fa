/**
 * A process with many MQTT brokers that have nothing to do: each accepts clients and their subscriptions, acknowledges
 * what they publish, and sends no message. They serve no control API, as Mosquitto without plugins. Runs as
 * `node idle-brokers.js <count>` with an IPC channel, and exits when the channel closes.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { generate, type Packet, parser } from 'mqtt-packet';

interface IdleBrokers {
  readonly urls: readonly string[];
  close(): void;
}

/** Result of a PUBLISH that no client has subscribed to (MQTT 5). */
const NO_SUBSCRIBERS = 0x10;

export async function startIdleBrokers(count: number): Promise<IdleBrokers> {
  const child = fork(fileURLToPath(import.meta.url), [String(count)]);
  const [ports] = (await once(child, 'message')) as [readonly number[]];
  return { urls: ports.map((port) => `mqtt://127.0.0.1:${port}`), close: () => child.disconnect() };
}

function serve(socket: Socket): void {
  const packets = parser();
  let protocolVersion = 4;
  const send = (packet: Packet) => socket.write(generate(packet, { protocolVersion }));
  socket.setNoDelay(true);
  socket.on('error', () => undefined);
  socket.on('data', (data: Buffer) => packets.parse(data));
  packets.on('error', () => socket.destroy());
  packets.on('packet', (packet) => {
    const messageId = packet.messageId ?? 0;
    if (packet.cmd === 'connect') {
      protocolVersion = packet.protocolVersion ?? 4;
      send({ cmd: 'connack', returnCode: 0, reasonCode: 0, sessionPresent: false });
    }
    if (packet.cmd === 'pingreq') send({ cmd: 'pingresp' });
    if (packet.cmd === 'publish' && packet.qos === 1) send({ cmd: 'puback', messageId, reasonCode: NO_SUBSCRIBERS });
    if (packet.cmd === 'publish' && packet.qos === 2) send({ cmd: 'pubrec', messageId, reasonCode: NO_SUBSCRIBERS });
    if (packet.cmd === 'subscribe') {
      send({ cmd: 'suback', messageId, granted: packet.subscriptions.map(({ qos }) => qos) });
    }
    if (packet.cmd === 'unsubscribe')
      send({ cmd: 'unsuback', messageId, granted: packet.unsubscriptions.map(() => 0) });
    if (packet.cmd === 'disconnect') socket.end();
  });
}

async function listen(): Promise<number> {
  const server = createServer(serve).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.on('disconnect', () => process.exit());
  const ports: number[] = [];
  for (let n = 0; n < Number(process.argv[2]); n += 1) ports.push(await listen());
  process.send?.(ports);
}
