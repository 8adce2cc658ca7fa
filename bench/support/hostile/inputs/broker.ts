/** Brokers that behave correctly until the service has subscribed. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { generate, type Packet, parser } from 'mqtt-packet';
import { graphql } from '../http-tools.ts';
import type { Group, Target } from '../input.ts';
import { times } from './texts.ts';

const HOLD_MS = 5_000;
/** Behaviour after the first SUBSCRIBE of a connection. */
type Behaviour = (socket: Socket, version: Version) => void;
/** The MQTT protocol version of the service. */
type Version = 4 | 5;

const ADD = 'mutation ($i: AddBrokerInput!) { addBroker(input: $i) { broker { id } } }';

/** Starts a broker and adds it to the project. Removes both after HOLD_MS. The result is the number of connections. */
async function hostileBroker(target: Target, run: number, behave: Behaviour, connack = 0): Promise<string> {
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    serve(socket, behave, connack);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const name = `hostile-${run}-${port}`;
  const input = { projectId: target.projectId, name, url: `mqtt://127.0.0.1:${port}`, username: 'u', password: 'p' };
  const added = await graphql(target, ADD, { i: input }, target.admin);
  await new Promise((resolve) => setTimeout(resolve, HOLD_MS));
  for (const socket of sockets) socket.destroy();
  server.close();
  return `${added}, ${connections > 9 ? '10 or more' : connections} connections`;
}

function serve(socket: Socket, behave: Behaviour, connack: number): void {
  const packets = parser();
  let isHostile = false;
  let protocolVersion: Version = 4;
  const send = (packet: Packet) => socket.write(generate(packet, { protocolVersion }));
  socket.on('data', (data: Buffer) => packets.parse(data));
  packets.on('error', () => socket.destroy());
  packets.on('packet', (packet) => {
    if (packet.cmd === 'connect') {
      protocolVersion = packet.protocolVersion === 5 ? 5 : 4;
      send({ cmd: 'connack', returnCode: connack, reasonCode: connack, sessionPresent: false });
    }
    if (packet.cmd === 'pingreq') send({ cmd: 'pingresp' });
    if (packet.cmd === 'publish' && packet.qos === 1) send({ cmd: 'puback', messageId: packet.messageId ?? 1 });
    if (packet.cmd === 'subscribe') {
      send({ cmd: 'suback', messageId: packet.messageId ?? 1, granted: packet.subscriptions.map(() => 0) });
      if (!isHostile) behave(socket, protocolVersion);
      isHostile = true;
    }
  });
}

const repeat = (socket: Socket, bytes: Buffer): void => flood(socket, () => bytes);

/** Writes the results of `next` as long as the service reads them. */
function flood(socket: Socket, next: () => Buffer): void {
  const fill = () => {
    while (!socket.destroyed && socket.write(next()));
  };
  socket.on('drain', fill);
  fill();
}

const publish = (topic: string, payload: string | Buffer, protocolVersion: Version): Buffer =>
  generate({ cmd: 'publish', topic, payload, qos: 0, dup: false, retain: false }, { protocolVersion });

const endlessPublish: Behaviour = (socket) => {
  // The Remaining Length is 62 MB. One byte of that is never sent.
  const [topic, length] = [Buffer.from('\0\x1f$SYS/broker/clients/connected/x'), 62_000_000];
  const bytes = [(length & 127) | 128, ((length >> 7) & 127) | 128, ((length >> 14) & 127) | 128, (length >> 21) & 127];
  socket.write(Buffer.from([0x30, ...bytes]));
  socket.write(topic);
  const chunk = Buffer.alloc(1_000_000);
  let sent = 0;
  const fill = () => {
    while (!socket.destroyed && sent < 60) {
      sent += 1;
      if (!socket.write(chunk)) return;
    }
  };
  socket.on('drain', fill);
  fill();
};

const logLines = (version: Version) =>
  Buffer.concat(times(500, (i) => publish('$SYS/broker/log/N', `${i}: a client did something`, version)));

let topics = 0;
const newTopics = (version: Version) =>
  Buffer.concat(times(200, () => publish(`$SYS/broker/x${topics++}/__proto__/y`, `${topics}`, version)));

const accounts = JSON.stringify({
  responses: [{ command: 'listClients', data: { totalCount: 2e5, clients: times(200_000, (i) => `account-${i}`) } }],
});
const answers = (version: Version) => publish('$CONTROL/dynamic-security/v1/response', accounts, version);

const RESPONSE = '$CONTROL/dynamic-security/v1/response';
const manyValues = (millions: number) => `{"responses":[${'{},'.repeat(millions * 1e6)}1]}`;
const manyLevels = (millions: number) => `{"responses":${'['.repeat(millions * 1e6)}${']'.repeat(millions * 1e6)}}`;

/** Sends the same control response without end. All connections share the packet. */
function response(text: () => string): Behaviour {
  const packets = new Map<Version, Buffer>();
  return (socket, version) => {
    const packet = packets.get(version) ?? publish(RESPONSE, text(), version);
    packets.set(version, packet);
    repeat(socket, packet);
  };
}

const hostile = (name: string, what: string, behave: Behaviour, connack = 0) => ({
  name,
  what,
  atOnce: 30,
  attack: (target: Target, run: number) => hostileBroker(target, run, behave, connack),
});

export const broker: Group = {
  who: 'hostile broker',
  inputs: [
    hostile('endless-publish', 'a PUBLISH of 62 MB that does not end', endlessPublish),
    hostile('log-flood', 'a flood of log lines', (socket, version) => repeat(socket, logLines(version))),
    hostile('new-topics', 'a flood of new topics below $SYS', (socket, version) =>
      flood(socket, () => newTopics(version)),
    ),
    hostile('large-answers', 'control responses of 4 MB without end', (socket, version) =>
      repeat(socket, answers(version)),
    ),
    hostile(
      'many-values',
      'control responses with 2.7 million values',
      response(() => manyValues(2.7)),
    ),
    hostile(
      'many-values-tenfold',
      'control responses with 27 million values',
      response(() => manyValues(27)),
    ),
    hostile(
      'many-levels',
      'control responses of 4 million levels',
      response(() => manyLevels(4)),
    ),
    hostile(
      'many-levels-tenfold',
      'control responses of 40 million levels',
      response(() => manyLevels(40)),
    ),
    hostile('broken-packets', 'malformed packets', (socket) =>
      flood(socket, () => Buffer.from([0x31, 0xff, 0xff, 0xff, 0xff])),
    ),
    hostile('refusing', 'refused connections', () => undefined, 2),
    hostile('closing', 'connections that end at once', (socket) => socket.destroy()),
  ],
};
