/**
 * A process with many MQTT 3.1.1 clients, which send only CONNECT and have no keep-alive. Runs as
 * `node mqtt-clients.js <port> <first> <count> [offline]` with the password in MQTT_PASSWORD and an IPC channel. Sends
 * `connected` when all clients have received CONNACK. Exits when the channel closes. With `offline`, each client
 * leaves a persistent session and disconnects.
 */
import { connect, type Socket } from 'node:net';
import { generate } from 'mqtt-packet';
import { clientId } from './client-id.ts';

const [port, first, count] = process.argv.slice(2).map(Number) as [number, number, number];
const isOffline = process.argv[5] === 'offline';
const password = Buffer.from(process.env.MQTT_PASSWORD ?? '');
const DISCONNECT = generate({ cmd: 'disconnect' });
/** Number of concurrent CONNECTs. */
const CONCURRENCY = 100;
/** Connections from one address: well below the number of ephemeral ports. */
const PER_ADDRESS = 4_000;

process.on('disconnect', () => process.exit(0));
const sockets: Socket[] = [];
let next = 0;
await Promise.all(
  Array.from({ length: CONCURRENCY }, async () => {
    while (next < count) {
      const number = first + next++;
      if (isOffline) await left(number);
      else sockets.push(await client(number));
    }
  }),
);
process.send?.('connected');

async function left(number: number): Promise<void> {
  const socket = await client(number);
  socket.removeAllListeners('close');
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.end(DISCONNECT);
  await closed;
}

function client(number: number): Promise<Socket> {
  // Only Linux uses all of 127.0.0.0/8 as loopback.
  const address =
    process.platform === 'linux' ? { localAddress: `127.0.0.${2 + Math.floor(number / PER_ADDRESS)}` } : {};
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', ...address }, () => socket.write(connectPacket(number)));
    socket.once('data', ([type, , , code]) => {
      if (type === 0x20 && code === 0) resolve(socket);
      else reject(new Error(`CONNACK ${code}`));
    });
    socket.once('close', () => {
      throw new Error('The broker ended a connection');
    });
    socket.once('error', reject);
  });
}

function connectPacket(number: number): Buffer {
  return generate({
    cmd: 'connect',
    clientId: clientId(number),
    username: 'admin',
    password,
    clean: !isOffline,
    keepalive: 0,
  });
}
