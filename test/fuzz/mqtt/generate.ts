import type { Random } from '../random.ts';
import { anyText, clientId, filter, payload, topic } from './names.ts';
import type { ConnectPacket, Damage, FuzzPacket, Text } from './packets.ts';
import { type PropertiesOf, properties } from './properties.ts';
import type { Sequence, Step } from './sequence.ts';

const MAX_CONNECTIONS = 4;
const MAX_STEPS = 14;
const MAX_PACKETS = 6;

/** Mostly small packet ids, so that they collide with each other and with the ids that the broker selects. */
const PACKET_IDS = [1, 1, 1, 2, 2, 3, 5, 0, 65_535];

/** Probability of a step that restarts the broker: a restart costs as much as a few dozen sequences. */
const RESTART = 0.002;
const DAMAGE = 0.06;

/** A sequence of a seeded run: mostly valid packets, with hostile names, properties and bytes among them. */
export function randomSequence(random: Random): Sequence {
  const writer = new SequenceWriter(random);
  return Array.from({ length: random.int(2, MAX_STEPS) }, () => writer.step());
}

class SequenceWriter {
  readonly #random: Random;
  /** CONNECT of each open connection. The broker may have refused it. */
  readonly #open = new Map<number, ConnectPacket>();

  constructor(random: Random) {
    this.#random = random;
  }

  step(): Step {
    const random = this.#random;
    const on = random.int(0, MAX_CONNECTIONS - 1);
    if (random.chance(RESTART)) {
      this.#open.clear();
      return { do: 'restart', how: random.pick(['close', 'kill']) };
    }
    const connect = this.#open.get(on);
    if (connect && random.chance(0.2)) {
      this.#open.delete(on);
      return { do: 'drop', on, how: random.pick(['end', 'end', 'reset']), ...this.#waits() };
    }
    const packets: FuzzPacket[] = [];
    // A second CONNECT or a missing CONNECT is a protocol error.
    if (connect ? random.chance(0.02) : random.chance(0.97)) packets.push(this.#connect(on));
    const version = this.#open.get(on)?.version ?? 4;
    const count = random.int(packets.length === 0 ? 1 : 0, MAX_PACKETS);
    for (let index = 0; index < count; index += 1) packets.push(...this.#packets(version));
    return {
      do: 'send',
      on,
      packets: packets.map((packet) => (random.chance(DAMAGE) ? { ...packet, damage: damage(random) } : packet)),
      ...(random.chance(0.1) && { segment: random.pick([1, 2, 3, 7, 50]) }),
      ...(random.chance(0.15) && { acknowledges: false }),
      ...this.#waits(),
    };
  }

  #connect(on: number): ConnectPacket {
    const random = this.#random;
    const version = random.pick([4, 4, 4, 5, 5, 5, 5, 5, 3, random.chance(0.2) ? random.int(0, 255) : 4]);
    const packet: ConnectPacket = {
      type: 'connect',
      version,
      // Often the client id of an open connection, so that its session is taken over.
      id: random.chance(0.3) ? random.pick([...this.#open.values(), { id: 'c1' }]).id : clientId(random),
      clean: random.chance(0.4),
      ...(random.chance(0.2) && { keepAlive: random.pick([1, 60, 65_535]) }),
      ...(random.chance(0.5) && { will: this.#will() }),
      ...this.#properties('connect'),
      ...(random.chance(0.02) && { username: random.pick([null, anyText(random)]) }),
      ...(random.chance(0.02) && { password: null }),
    };
    this.#open.set(on, packet);
    return packet;
  }

  #will() {
    const random = this.#random;
    const qos = random.pick([0, 1, 2, random.chance(0.1) ? 3 : 1]);
    return {
      topic: topic(random),
      payload: payload(random),
      qos,
      retain: random.chance(0.4),
      ...this.#properties('will'),
    };
  }

  #packets(version: number): readonly FuzzPacket[] {
    const random = this.#random;
    const packetId = random.pick(PACKET_IDS);
    const kind = random.int(0, 99);
    if (kind < 34) return this.#publish(packetId);
    if (kind < 56) {
      const filters = this.#filters().map((one) => ({ filter: one, options: this.#subscriptionOptions(version) }));
      return [{ type: 'subscribe', packetId, filters, ...this.#properties('subscribe') }];
    }
    if (kind < 63)
      return [{ type: 'unsubscribe', packetId, filters: this.#filters(), ...this.#properties('unsubscribe') }];
    if (kind < 88) {
      const type = random.pick(['puback', 'pubrec', 'pubrel', 'pubrel', 'pubcomp'] as const);
      const packet = { type, packetId, ...this.#reason(), ...this.#properties('acknowledgement') };
      return random.chance(0.2) ? [packet, packet] : [packet];
    }
    if (kind < 94) return [{ type: 'pingreq' }];
    if (kind < 97) return [{ type: 'disconnect', ...this.#reason(), ...this.#properties('disconnect') }];
    if (kind < 99) return [{ type: 'auth', ...this.#reason(), ...this.#properties('auth') }];
    return [
      {
        type: 'raw',
        hex: random.pick(['00', '1000', '2000', '30ffffff7f', 'f0ffffffff', '6200', '820100', '474554202f']),
      },
    ];
  }

  #publish(packetId: number): readonly FuzzPacket[] {
    const random = this.#random;
    const qos = random.pick([0, 1, 1, 2, 2, random.chance(0.05) ? 3 : 0]);
    const publish: FuzzPacket = {
      type: 'publish',
      topic: topic(random),
      payload: payload(random),
      qos,
      packetId,
      ...(random.chance(0.3) && { retain: true }),
      ...(random.chance(0.1) && { dup: true }),
      ...this.#properties('publish'),
    };
    if (qos !== 2 || random.chance(0.5)) return [publish];
    return [publish, ...Array.from({ length: random.int(1, 2) }, () => ({ type: 'pubrel', packetId }) as const)];
  }

  #filters(): readonly Text[] {
    const random = this.#random;
    const length = random.chance(0.02) ? 300 : random.pick([0, 1, 1, 1, 1, 2, 3]);
    return Array.from({ length }, () => filter(random));
  }

  #subscriptionOptions(version: number): number {
    const random = this.#random;
    if (random.chance(0.03)) return random.int(0, 255);
    return random.int(0, 2) | (version === 5 ? random.pick([0, 4, 8, 12, 0x10, 0x20]) : 0);
  }

  #reason() {
    const random = this.#random;
    return random.chance(0.3) ? { reason: random.pick([0, 4, 0x10, 0x18, 0x19, 0x80, 0x82, 0x92, 0xff]) } : {};
  }

  #waits() {
    return this.#random.chance(0.4) ? { waits: true } : {};
  }

  #properties(kind: PropertiesOf) {
    const list = properties(this.#random, kind);
    return list.length > 0 ? { properties: list } : {};
  }
}

function damage(random: Random): Damage {
  const bytes = random.pick([1, 1, 2, 3, 5, 10, 100]);
  return random.pick<() => Damage>([
    () => ({ kind: 'truncated', bytes }),
    () => ({ kind: 'cut', bytes }),
    () => ({ kind: 'cut', bytes }),
    () => ({ kind: 'grown', hex: random.pick(['00', 'ff', '0000', '000161', 'ffffff']) }),
    () => ({ kind: 'changed', at: random.int(0, 40), to: random.pick([0, 1, 0x7f, 0x80, 0xff, random.int(0, 255)]) }),
    () => ({ kind: 'length', length: random.pick([0, 1, 2, 127, 128, 1_000, 268_435_455]) }),
  ])();
}
