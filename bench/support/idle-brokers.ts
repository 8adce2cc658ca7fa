/**
 * A process with many MQTT brokers that have nothing to do: each accepts clients and their subscriptions, acknowledges
 * what they publish, and sends no message, or only its values below `$SYS`. They serve no control API, as Mosquitto
 * without plugins. Runs as `node idle-brokers.js <count> [sys]` with an IPC channel, and exits when the channel closes.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { generate, type Packet, parser } from 'mqtt-packet';

interface IdleBrokers {
  readonly urls: readonly string[];
  counts(): Promise<ConnectionCounts>;
  /** Breaks all connections. */
  cut(): void;
  close(): void;
}

interface ConnectionCounts {
  /** Connections that the brokers have accepted so far. */
  readonly accepted: number;
  /** Those of them that only show a connection in the broker's log (BrokerSession.knock). */
  readonly knocks: number;
  /** Open connections with CONNACK, without these. */
  readonly open: number;
}

interface IdleBrokersOptions {
  /** Whether each broker sends the values of SYS_TOPICS to subscribers, every SYS_MS. Default: false. */
  readonly sendsSys?: boolean;
}

const SYS_MS = 10_000;
/** Brokers send their values in this many groups, one after the other. */
const SYS_GROUPS = 100;
const SYS_TOPICS = [
  ...['uptime', 'version', 'clients/total', 'clients/connected', 'clients/disconnected', 'clients/maximum'],
  ...['messages/received', 'messages/sent', 'messages/stored', 'publish/messages/received', 'publish/messages/sent'],
  ...['bytes/received', 'bytes/sent', 'subscriptions/count', 'retained messages/count', 'load/messages/sent/1min'],
].map((name) => `$SYS/broker/${name}`);

/** Result of a PUBLISH that no client has subscribed to (MQTT 5). */
const NO_SUBSCRIBERS = 0x10;

export async function startIdleBrokers(
  count: number,
  { sendsSys = false }: IdleBrokersOptions = {},
): Promise<IdleBrokers> {
  const child = fork(fileURLToPath(import.meta.url), [String(count), ...(sendsSys ? ['sys'] : [])]);
  const [ports] = (await once(child, 'message')) as [readonly number[]];
  return {
    urls: ports.map((port) => `mqtt://127.0.0.1:${port}`),
    counts: async () => {
      const counts = once(child, 'message');
      child.send('counts');
      return (await counts)[0] as ConnectionCounts;
    },
    cut: () => void child.send('cut'),
    close: () => child.disconnect(),
  };
}

let accepted = 0;
let knocks = 0;
const sockets = new Set<Socket>();
/** Of each connection that subscribed to `$SYS`, what sends the values. */
const sysSenders: Map<Socket, () => void>[] = Array.from({ length: SYS_GROUPS }, () => new Map());

function serve(socket: Socket, group: number | null): void {
  const packets = parser();
  let protocolVersion = 4;
  accepted += 1;
  /** Subscription identifiers by the filter's part before `#` or `+`. */
  const filters = new Map<string, number>();
  const sendSys = (retain: boolean, only?: string) => {
    socket.cork();
    for (const topic of SYS_TOPICS) {
      const filter = filterOf(topic);
      const subscriptionIdentifier = filters.get(filter);
      if (subscriptionIdentifier === undefined || filter !== (only ?? filter)) continue;
      send({
        ...{ cmd: 'publish', topic, payload: String(performance.now()), qos: 0, dup: false, retain },
        ...(protocolVersion === 5 && { properties: { subscriptionIdentifier } }),
      });
    }
    socket.uncork();
  };
  socket.once('close', () => {
    sockets.delete(socket);
    if (group !== null) sysSenders[group]?.delete(socket);
  });
  const send = (packet: Packet) => socket.write(generate(packet, { protocolVersion }));
  socket.setNoDelay(true);
  socket.on('error', () => undefined);
  socket.on('data', (data: Buffer) => packets.parse(data));
  packets.on('error', () => socket.destroy());
  packets.on('packet', (packet) => {
    const messageId = packet.messageId ?? 0;
    if (packet.cmd === 'connect') {
      protocolVersion = packet.protocolVersion ?? 4;
      if (packet.clientId.endsWith('-probe')) knocks += 1;
      else sockets.add(socket);
      send({ cmd: 'connack', returnCode: 0, reasonCode: 0, sessionPresent: false });
    }
    if (packet.cmd === 'pingreq') send({ cmd: 'pingresp' });
    if (packet.cmd === 'publish' && packet.qos === 1) send({ cmd: 'puback', messageId, reasonCode: NO_SUBSCRIBERS });
    if (packet.cmd === 'publish' && packet.qos === 2) send({ cmd: 'pubrec', messageId, reasonCode: NO_SUBSCRIBERS });
    if (packet.cmd === 'subscribe') {
      send({ cmd: 'suback', messageId, granted: packet.subscriptions.map(({ qos }) => qos) });
      for (const { topic } of packet.subscriptions) {
        if (group === null || !topic.startsWith('$SYS/')) continue;
        const filter = topic.slice(0, -1);
        filters.set(filter, [packet.properties?.subscriptionIdentifier ?? 0].flat()[0] ?? 0);
        sysSenders[group]?.set(socket, () => sendSys(false));
        sendSys(true, filter);
      }
    }
    if (packet.cmd === 'unsubscribe')
      send({ cmd: 'unsuback', messageId, granted: packet.unsubscriptions.map(() => 0) });
    if (packet.cmd === 'disconnect') socket.end();
  });
}

/** The part before `#` or `+` of the filter of SYS_FILTERS (sys-topics.ts) that matches a topic. */
function filterOf(topic: string): string {
  const [, , name, more] = topic.split('/');
  return more === undefined ? '$SYS/broker/' : `$SYS/broker/${name}/`;
}

async function listen(group: number | null): Promise<number> {
  const server = createServer((socket) => serve(socket, group)).listen(0, '127.0.0.1', 1_024);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.on('disconnect', () => process.exit());
  const [, , count, sys] = process.argv;
  const ports: number[] = [];
  for (let n = 0; n < Number(count); n += 1) ports.push(await listen(sys === undefined ? null : n % SYS_GROUPS));
  process.on('message', (message) => {
    if (message === 'cut') for (const socket of sockets) socket.destroy();
    else process.send?.({ accepted, knocks, open: sockets.size } satisfies ConnectionCounts);
  });
  let next = 0;
  setInterval(() => {
    for (const send of sysSenders[next % SYS_GROUPS]?.values() ?? []) send();
    next += 1;
  }, SYS_MS / SYS_GROUPS);
  process.send?.(ports);
}
