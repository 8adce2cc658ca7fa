import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { generate, type Packet, parser } from 'mqtt-packet';
import { onTestFinished } from 'vitest';

export interface RawClient {
  readonly socket: Socket;
  send(packet: object): void;
}

interface RawBroker {
  readonly url: string;
  /** Filters that were subscribed to, and options of each, oldest first. */
  readonly subscribed: {
    readonly filter: string;
    readonly rh: number | undefined;
    readonly identifier: number | undefined;
  }[];
  /** Packets that came, oldest first. */
  readonly received: Packet[];
  /** Of the last connection. */
  readonly client: RawClient | null;
}

interface RawBrokerOptions {
  /** CONNECT of other versions is refused. Default 5. */
  readonly version?: 4 | 5;
  /** Reason code of the SUBACK; null: the connection ends. Default 0. */
  readonly answer?: (filter: string) => number | null;
  /** Default true. */
  readonly answersPings?: boolean;
  /** After the SUBACK of a filter. */
  readonly onSubscribed?: (client: RawClient, filter: string, identifier: number | undefined) => void;
}

/** A broker that does what a test wants of the protocol, and what no broker may. */
export async function startRawBroker(options: RawBrokerOptions = {}): Promise<RawBroker> {
  const { version = 5, answer = () => 0, answersPings = true, onSubscribed } = options;
  const subscribed: RawBroker['subscribed'] = [];
  const received: Packet[] = [];
  const sockets = new Set<Socket>();
  let last: RawClient | null = null;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    const send = (packet: object) => {
      if (socket.writable) socket.write(generate(packet as Packet, { protocolVersion: version }));
    };
    const client = { socket, send };
    last = client;
    const packets = parser();
    packets.on('error', () => socket.destroy());
    packets.on('packet', (packet: Packet) => {
      received.push(packet);
      if (packet.cmd === 'connect') {
        const isRefused = packet.protocolVersion !== version;
        socket.write(
          generate({ cmd: 'connack', returnCode: isRefused ? 1 : 0, reasonCode: 0, sessionPresent: false } as Packet, {
            protocolVersion: isRefused ? 4 : version,
          }),
        );
        if (isRefused) socket.end();
      } else if (packet.cmd === 'pingreq') {
        if (answersPings) send({ cmd: 'pingresp' });
      } else if (packet.cmd === 'unsubscribe') {
        send({ cmd: 'unsuback', messageId: packet.messageId, granted: packet.unsubscriptions.map(() => 0) });
      } else if (packet.cmd === 'subscribe') {
        const [subscription] = packet.subscriptions;
        const filter = subscription?.topic ?? '';
        const identifier = packet.properties?.subscriptionIdentifier as number | undefined;
        subscribed.push({ filter, rh: subscription?.rh, identifier });
        const code = answer(filter);
        if (code === null) {
          socket.destroy();
          return;
        }
        send({ cmd: 'suback', messageId: packet.messageId, granted: [code] });
        if (code < 0x80) onSubscribed?.(client, filter, identifier);
      }
    });
    socket.on('data', (data) => packets.parse(data));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as { port: number };
  return {
    url: `mqtt://127.0.0.1:${port}`,
    subscribed,
    received,
    get client() {
      return last;
    },
  };
}
