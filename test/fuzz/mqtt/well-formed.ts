import type { Random } from '../random.ts';
import { PLAIN_FILTERS, PLAIN_TOPICS, plainId } from './names.ts';
import type { ConnectPacket, FuzzPacket, Property, PublishPacket, Text, Will } from './packets.ts';
import type { Sequence, Step } from './sequence.ts';

const MAX_CONNECTIONS = 3;
const MAX_STEPS = 12;
const RESTART = 0.01;
/** Seconds. Longer than any sequence. */
const WILL_DELAY = 1_000;

/** Valid topics at a limit of a broker or of the specification. */
const RARE_TOPICS: readonly Text[] = [
  '/',
  '//a',
  'é',
  '💣/a',
  ' ',
  { repeat: 'a/', times: 99, end: 'z' },
  { repeat: 'x', times: 65_535 },
];
const RARE_FILTERS: readonly Text[] = [
  ...RARE_TOPICS,
  '$SYS/broker/nothing',
  '/#',
  '/+',
  '+/+/+',
  { repeat: '+/', times: 99, end: '#' },
];

/** A sequence in which all clients follow the specification, so that all brokers must behave equally. */
export function wellFormedSequence(random: Random): Sequence {
  const clients = new Clients(random);
  return Array.from({ length: random.int(3, MAX_STEPS) }, () => clients.steps()).flat();
}

const send = (on: number, packet: FuzzPacket): Step => ({ do: 'send', on, packets: [packet] });

interface Open {
  readonly connect: ConnectPacket;
  /** Whether the session outlives the connection. */
  readonly isPersistent: boolean;
  nextPacketId: number;
}

class Clients {
  readonly #random: Random;
  readonly #open = new Map<number, Open>();

  constructor(random: Random) {
    this.#random = random;
  }

  steps(): readonly Step[] {
    const random = this.#random;
    const on = random.int(0, MAX_CONNECTIONS - 1);
    if (random.chance(RESTART)) {
      this.#open.clear();
      return [{ do: 'restart', how: 'close' }];
    }
    const client = this.#open.get(on);
    if (!client) return [send(on, this.#connect(on))];
    const kind = random.int(0, 99);
    if (kind < 12) {
      this.#open.delete(on);
      return [{ do: 'drop', on, how: 'end' }];
    }
    if (kind < 20) return [send(on, this.#disconnect(on, client))];
    const packet = this.#packet(client);
    return packet.type === 'publish' && packet.qos === 2 ? this.#exactlyOnce(on, client, packet) : [send(on, packet)];
  }

  /** Publishes at QoS 2. PUBREL follows, sometimes on the next connection. Brokers may deliver before or after it. */
  #exactlyOnce(on: number, client: Open, publish: PublishPacket): readonly Step[] {
    const { packetId = 1 } = publish;
    const release = send(on, { type: 'pubrel', packetId });
    if (!client.isPersistent || this.#random.chance(0.7)) return [send(on, publish), release];
    return [
      send(on, publish),
      { do: 'drop', on, how: 'end' },
      send(on, { ...client.connect, clean: false }),
      ...(this.#random.chance(0.5) ? [send(on, { ...publish, dup: true })] : []),
      release,
    ];
  }

  #connect(on: number): ConnectPacket {
    const random = this.#random;
    const version = random.pick([4, 4, 5, 5, 5, 3]);
    const clean = random.chance(0.4);
    const id = version > 3 && random.chance(0.05) ? '' : plainId(random);
    const expiry = version === 5 && random.chance(0.6) ? random.pick([0, 1_000, 0xffff_ffff]) : 0;
    const connect: ConnectPacket = {
      type: 'connect',
      version,
      id,
      clean,
      ...(random.chance(0.4) && { will: this.#will(version, id) }),
      ...(expiry > 0 && { properties: [{ id: 17, value: expiry }] }),
    };
    for (const [other, open] of this.#open) if (id !== '' && open.connect.id === id) this.#open.delete(other);
    // Before MQTT 5 a client without an id is refused unless its session is clean.
    const isAccepted = id !== '' || clean || version === 5;
    const isPersistent = id !== '' && (version === 5 ? expiry > 0 : !clean);
    if (isAccepted) this.#open.set(on, { connect, isPersistent, nextPacketId: 1 });
    return connect;
  }

  /** A will without delay if the client has no id, because its session cannot be deleted afterwards. */
  #will(version: number, clientId: string): Will {
    const random = this.#random;
    const { topic, payload, qos, retain } = this.#message();
    const isDelayed = version === 5 && clientId !== '' && random.chance(0.2);
    return { topic, payload, qos, retain, ...(isDelayed && { properties: [{ id: 24, value: WILL_DELAY }] }) };
  }

  #disconnect(on: number, { connect: { version } }: Open): FuzzPacket {
    this.#open.delete(on);
    const withReason = version === 5 && this.#random.chance(0.5);
    return { type: 'disconnect', ...(withReason && { reason: this.#random.pick([0, 4]) }) };
  }

  #packet(client: Open): FuzzPacket {
    const random = this.#random;
    const { version } = client.connect;
    const packetId = client.nextPacketId;
    client.nextPacketId += 1;
    const kind = random.int(0, 99);
    if (kind < 40) {
      const filters = this.#filters().map((filter) => ({ filter, options: this.#options(version) }));
      const properties = version === 5 && random.chance(0.2) ? [{ id: 11, value: random.int(1, 3) }] : [];
      return { type: 'subscribe', packetId, filters, ...(properties.length > 0 && { properties }) };
    }
    if (kind < 50) return { type: 'unsubscribe', packetId, filters: this.#filters() };
    if (kind < 55) return { type: 'pingreq' };
    if (kind < 58) return { type: 'pubrel', packetId };
    const { topic, payload, qos, retain } = this.#message();
    const publish: PublishPacket = { type: 'publish', topic, payload, qos, retain, packetId };
    const properties = version === 5 ? this.#publishProperties() : [];
    return properties.length > 0 ? { ...publish, properties } : publish;
  }

  #publishProperties(): readonly Property[] {
    return this.#random.some<Property>(
      [
        { id: 1, value: 1 },
        { id: 2, value: 1_000 },
        { id: 3, value: '__proto__' },
        { id: 8, value: 'a/b' },
        { id: 9, value: 'x' },
        { id: 38, value: ['__proto__', 'constructor'] },
      ],
      0.1,
    );
  }

  #message() {
    const random = this.#random;
    return {
      topic: random.pick(random.chance(0.9) ? PLAIN_TOPICS : RARE_TOPICS),
      payload: random.pick(['', '1', 'payload', '{"a":1}', 'é']),
      qos: random.int(0, 2),
      retain: random.chance(0.3),
    };
  }

  #filters(): readonly Text[] {
    const random = this.#random;
    const filters = Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, () =>
      random.pick(random.chance(0.9) ? PLAIN_FILTERS : RARE_FILTERS),
    );
    return [...new Set(filters)];
  }

  #options(version: number): number {
    const random = this.#random;
    return random.int(0, 2) | (version === 5 ? random.pick([0, 0, 4, 8, 12, 0x10, 0x20]) : 0);
  }
}
