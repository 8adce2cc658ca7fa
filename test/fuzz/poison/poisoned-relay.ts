import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { generate, type Packet, parser } from 'mqtt-packet';
import { onTestFinished } from '../../support/shared.ts';
import type { Random } from '../random.ts';
import { NUMBERS, PoisonedJson } from './poisoned-json.ts';

/** Values of `$SYS`. */
const TEXTS = [...NUMBERS, '', ' ', 'NaN', 'Infinity', '0x10', '1,000', '12 seconds', '\0', '\u202e1', '5e-324'];
/** Without them no value of a response would be read. */
const ENVELOPE = ['responses', 'command', 'correlationData', 'type', 'event'];

/**
 * A broker that replaces some values of its control responses, its events and of `$SYS` by odd ones, while
 * `isPoisoned`: a relay in front of an ordinary broker.
 */
export class PoisonedRelay {
  isPoisoned = false;
  readonly json: PoisonedJson;
  readonly #random: Random;
  readonly #sockets = new Set<Socket>();
  #ownPort = 0;

  private constructor(random: Random) {
    this.#random = random;
    this.json = new PoisonedJson(random, ENVELOPE);
  }

  static async start(port: number, random: Random): Promise<PoisonedRelay> {
    const relay = new PoisonedRelay(random);
    const server = createServer((client) => {
      const broker = connect(port, '127.0.0.1');
      for (const socket of [client, broker]) relay.#sockets.add(socket.on('error', () => undefined));
      relay.#join(client, broker);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    relay.#ownPort = (server.address() as AddressInfo).port;
    onTestFinished(() => {
      server.close();
      relay.#cut();
    });
    return relay;
  }

  /** Ends all connections and replaces nothing in those that follow, so that what was read is read again. */
  heal(): void {
    this.isPoisoned = false;
    this.#cut();
  }

  #cut(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  get url(): string {
    return `mqtt://127.0.0.1:${this.#ownPort}`;
  }

  #join(client: Socket, broker: Socket): void {
    client.once('close', () => broker.destroy());
    broker.once('close', () => client.destroy());
    client.once('data', (data) => {
      const first = parser();
      first.once('packet', (packet) => {
        const { protocolVersion = 5 } = packet as { readonly protocolVersion?: 4 | 5 };
        const packets = parser({ protocolVersion });
        packets.on('packet', (one: Packet) => client.write(generate(this.#changed(one), { protocolVersion })));
        broker.on('data', (bytes) => packets.parse(bytes));
      });
      first.parse(data);
      broker.write(data);
      client.pipe(broker);
    });
  }

  #changed(packet: Packet): Packet {
    if (!this.isPoisoned || packet.cmd !== 'publish') return packet;
    const { topic, payload } = packet;
    if (/^\$CONTROL\/.*\/response$/.test(topic))
      return { ...packet, payload: this.json.write(JSON.parse(String(payload))) };
    const isValue = topic.startsWith('$SYS/') && this.#random.chance(0.3);
    return isValue ? { ...packet, payload: this.#random.pick(TEXTS) } : packet;
  }
}
