import { generate, type IPublishPacket, type Packet, parser } from 'mqtt-packet';
import { expect, test } from 'vitest';
import { LinkLimitExceeded } from '../../../src/protocol/mqtt/packet-limits.ts';
import { MalformedPacket } from '../../../src/protocol/mqtt/packet-properties.ts';
import { PacketReader } from '../../../src/protocol/mqtt/packet-reader.ts';

const LARGEST = 1_000_000;

/** The same numbers each time (mulberry32). */
function random(seed: number) {
  let state = seed;
  const below = (limit: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
  return { below, of: <T>(values: readonly T[]): T => values[below(values.length)] as T };
}

function startReader(version: 4 | 5, onTold: () => void = () => undefined) {
  const told: unknown[] = [];
  const tell = (packet: unknown) => {
    told.push(packet);
    onTold();
  };
  const reader = new PacketReader(
    { version, limits: { packet: LARGEST } },
    {
      onPublish: ({ topic, payload, qos, retain, dup, messageId, identifiers }) =>
        tell({ cmd: 'publish', topic, payload: payload.toString('hex'), qos, retain, dup, messageId, identifiers }),
      onAcknowledgement: (cmd, messageId, reasonCode) => tell({ cmd, messageId, reasonCode }),
      onRelease: (messageId) => tell({ cmd: 'pubrel', messageId }),
      onOther: (packet) => tell({ bytes: packet.toString('hex') }),
    },
  );
  return { reader, told };
}

/** What others read of the same bytes, in the same form. */
function reference(bytes: Buffer, version: 4 | 5): unknown[] {
  const told: unknown[] = [];
  const others = parser({ protocolVersion: version });
  others.on('error', (error) => {
    throw error;
  });
  others.on('packet', (packet: Packet) => {
    if (packet.cmd === 'publish') {
      const { cmd, topic, payload, qos, retain, dup, messageId, properties } = packet;
      const identifiers = properties?.subscriptionIdentifier;
      told.push({ cmd, topic, payload: payload.toString('hex'), qos, retain, dup, messageId, identifiers });
    } else if (packet.cmd === 'pubrel') told.push({ cmd: packet.cmd, messageId: packet.messageId });
    else if (packet.cmd === 'puback' || packet.cmd === 'pubrec' || packet.cmd === 'pubcomp') {
      told.push({ cmd: packet.cmd, messageId: packet.messageId, reasonCode: packet.reasonCode ?? 0 });
    } else told.push({ bytes: generate(packet, { protocolVersion: version }).toString('hex') });
  });
  others.parse(bytes);
  return told;
}

function randomPacket({ below, of }: ReturnType<typeof random>, version: 4 | 5): Packet {
  const messageId = 1 + below(65_535);
  const cmd = of([
    'publish',
    'publish',
    'publish',
    'puback',
    'pubrec',
    'pubrel',
    'pubcomp',
    'suback',
    'pingresp',
  ] as const);
  if (cmd === 'publish') {
    const qos = of([0, 1, 2] as const);
    const properties: IPublishPacket['properties'] = {
      ...(below(2) ? { subscriptionIdentifier: of([1, 127, 128, 268_435_455]) } : {}),
      ...(below(4) ? {} : { subscriptionIdentifier: [3, 20_000, 3_000_000] as unknown as number }),
      ...(below(3) ? {} : { payloadFormatIndicator: true, messageExpiryInterval: below(1_000) }),
      ...(below(3) ? {} : { contentType: 'é', responseTopic: 'a/b', correlationData: Buffer.alloc(below(300)) }),
      ...(below(3) ? {} : { userProperties: { a: 'b', ['c'.repeat(below(200))]: ['d', ''] } }),
    };
    return {
      ...{ cmd, qos, retain: below(2) === 1, dup: qos > 0 && below(2) === 1 },
      topic: of(['t', 'a/b/c', '/', 'grüße/☃/😀', 'x'.repeat(300)]),
      payload: Buffer.alloc(of([0, 1, 50, 127, 128, 16_383, 16_384, 70_000].slice(0, below(20) ? 5 : 8)), below(256)),
      ...(qos > 0 ? { messageId } : {}),
      ...(version === 5 && below(2) ? { properties } : {}),
    };
  }
  if (cmd === 'suback') return { cmd, messageId, granted: [0, 1] };
  if (cmd === 'pingresp') return { cmd };
  if (version === 4 || below(2)) return { cmd, messageId };
  const reasonCode = cmd === 'puback' || cmd === 'pubrec' ? of([0, 16, 135]) : of([0, 146]);
  return { cmd, messageId, reasonCode, ...(below(2) ? { properties: { reasonString: 'r'.repeat(below(200)) } } : {}) };
}

test.each([4, 5] as const)('packets are read as others read them, however they are cut (MQTT %i)', (version) => {
  const numbers = random(version);
  const packets = Array.from({ length: 400 }, () => randomPacket(numbers, version));
  const bytes = Buffer.concat(packets.map((packet) => generate(packet, { protocolVersion: version })));
  const expected = reference(bytes, version);
  expect(expected).toHaveLength(packets.length);
  for (const most of [bytes.length, 1, 3, 50, 1_000, 65_536]) {
    const { reader, told } = startReader(version);
    for (let at = 0; at < bytes.length; ) {
      const length = most === bytes.length ? most : 1 + numbers.below(most);
      reader.read(bytes.subarray(at, at + length));
      at += length;
    }
    expect(told).toEqual(expected);
  }
});

test('a paused reader stops after the reported packet, and loses none', () => {
  const packets = Array.from({ length: 50 }, (_, index): Packet => ({ cmd: 'puback', messageId: index + 1 }));
  const bytes = Buffer.concat(packets.map((packet) => generate(packet)));
  const { reader, told } = startReader(4, () => {
    if (told.length % 10 === 0) reader.pause();
    // A reader that is resumed during a report continues after it.
    if (told.length % 20 === 0) reader.resume();
  });
  reader.read(bytes.subarray(0, 150));
  expect(told).toHaveLength(10);
  reader.read(bytes.subarray(150));
  expect(told).toHaveLength(10);
  reader.resume();
  expect(told).toHaveLength(30);
  reader.resume();
  expect(told).toEqual(reference(bytes, 4));
});

test.each<[string, number[], 4 | 5]>([
  ['a length of five bytes', [0x30, 0x80, 0x80, 0x80, 0x80, 0x01], 4],
  ['a packet larger than was allowed', [0x30, 0xff, 0xff, 0xff, 0x7f], 4],
  ['a packet of another type that is larger than was allowed', [0x90, 0xff, 0xff, 0xff, 0x7f], 4],
  ['QoS 3', [0x36, 5, 0, 1, 97, 0, 1], 4],
  ['no room for a topic', [0x30, 1, 0], 4],
  ['a topic longer than the packet', [0x30, 3, 0, 2, 97], 4],
  ['no topic', [0x30, 2, 0, 0], 4],
  ['a wildcard in the topic [MQTT-3.3.2-2]', [0x30, 5, 0, 3, 97, 47, 0x23], 4],
  ['another wildcard in the topic', [0x30, 3, 0, 1, 0x2b], 4],
  ['no room for a packet id', [0x32, 4, 0, 1, 97, 0], 4],
  ['the packet id 0', [0x32, 5, 0, 1, 97, 0, 0], 4],
  ['no properties', [0x30, 3, 0, 1, 97], 5],
  ['properties longer than the packet', [0x30, 4, 0, 1, 97, 1], 5],
  ['a property that is cut short', [0x30, 6, 0, 1, 97, 2, 0x02, 0], 5],
  ['a string that is cut short', [0x30, 7, 0, 1, 97, 3, 0x03, 0, 1], 5],
  ['a topic alias, when none was allowed', [0x30, 7, 0, 1, 97, 3, 0x23, 0, 1], 5],
  ['a property of another packet', [0x30, 7, 0, 1, 97, 3, 0x21, 0, 1], 5],
  ['the subscription identifier 0', [0x30, 6, 0, 1, 97, 2, 0x0b, 0], 5],
  ['a subscription identifier that is cut short', [0x30, 6, 0, 1, 97, 2, 0x0b, 0x80], 5],
  ['an answer to nothing', [0x40, 0], 4],
  ['an answer to the id 0', [0x40, 2, 0, 0], 4],
  ['an answer with flags', [0x42, 2, 0, 1], 4],
  ['PUBREL without its flags', [0x60, 2, 0, 1], 4],
  ['an answer of MQTT 5 in 3.1.1', [0x40, 3, 0, 1, 0], 4],
  ['an answer with properties that are cut short', [0x40, 4, 0, 1, 0, 2], 5],
])('%s is refused', (what, bytes, version) => {
  const good = generate({ cmd: 'puback', messageId: 1 });
  for (const most of [1, 100]) {
    const { reader, told } = startReader(version);
    reader.read(good);
    const read = () => {
      for (let at = 0; at < bytes.length; at += most) reader.read(Buffer.from(bytes.slice(at, at + most)));
    };
    expect(read).toThrow(/larger than was allowed/.test(what) ? LinkLimitExceeded : MalformedPacket);
    // The start of the next packet is unknown.
    reader.read(good);
    expect(told).toHaveLength(1);
  }
});

test('any bytes are parsed or refused', () => {
  const numbers = random(7);
  let refused = 0;
  for (let round = 0; round < 4_000; round += 1) {
    const version = numbers.of([4, 5] as const);
    const bytes = Buffer.concat(
      Array.from({ length: 3 }, () => generate(randomPacket(numbers, version), { protocolVersion: version })),
    );
    for (let changes = numbers.below(4); changes >= 0; changes -= 1) {
      bytes[numbers.below(Math.min(bytes.length, 60))] = numbers.below(256);
    }
    const { reader } = startReader(version);
    try {
      for (let at = 0; at < bytes.length; ) {
        const length = 1 + numbers.below(40);
        reader.read(bytes.subarray(at, at + length));
        at += length;
      }
    } catch (error) {
      expect(error instanceof MalformedPacket || error instanceof LinkLimitExceeded).toBe(true);
      refused += 1;
    }
  }
  expect(refused).toBeGreaterThan(500);
});

/** In pieces of so many bytes. */
function readIn(reader: PacketReader, bytes: Buffer, most: number): void {
  for (let at = 0; at < bytes.length; at += most) reader.read(bytes.subarray(at, at + most));
}

test.each([1_000, 65_536, 10_000_000])('in pieces of %i bytes only control responses may be larger', (most) => {
  const told: string[] = [];
  const listener = {
    onPublish: ({ topic, payload }: { topic: string; payload: Buffer }) => {
      told.push(`${topic} ${payload.length} ${payload.at(-1)}`);
    },
    onAcknowledgement: () => undefined,
    onRelease: () => undefined,
    onOther: () => undefined,
  };
  const limits = { packet: 100_000, control: 300_000 };
  const publish = (topic: string, length: number) =>
    generate({ cmd: 'publish', topic, payload: Buffer.alloc(length, 7), qos: 0, retain: false, dup: false });
  const reader = new PacketReader({ version: 4, limits }, listener);
  readIn(reader, Buffer.concat([publish('$SYS/a', 99_000), publish('$CONTROL/a/v1/response', 299_000)]), most);
  expect(told).toEqual(['$SYS/a 99000 7', '$CONTROL/a/v1/response 299000 7']);
  for (const [topic, length] of [
    ['$SYS/a', 100_000],
    ['$CONTROLS', 200_000],
    ['$CONTROL/a', 300_000],
  ] as const) {
    const other = new PacketReader({ version: 4, limits }, listener);
    expect(() => readIn(other, publish(topic, length), most)).toThrow(LinkLimitExceeded);
  }
  expect(told).toHaveLength(2);
  const skipping = new PacketReader({ version: 4, limits: { packet: 1_000 }, skipsLarge: true }, listener);
  readIn(skipping, Buffer.concat([publish('a', 500_000), publish('b', 10), publish('c', 2_000)]), most);
  expect(told.slice(2)).toEqual(['b 10 7']);
});

test.each([
  ['CONNACK', 0x20],
  ['PUBACK', 0x40],
  ['SUBACK', 0x90],
  ['DISCONNECT', 0xe0],
  ['AUTH', 0xf0],
])('a %s is at most 64 KiB long on every link', (_name, first) => {
  const others: number[] = [];
  const listener = {
    onPublish: () => undefined,
    onAcknowledgement: () => undefined,
    onRelease: () => undefined,
    onOther: ({ length }: Buffer) => void others.push(length),
  };
  // Four bytes of Remaining Length for 16,000,000, three for 65,532.
  const limits = { packet: 16_842_752 };
  const large = Buffer.from([first, 0x80, 0xc8, 0xd0, 0x07]);
  expect(() => new PacketReader({ version: 5, limits }, listener).read(large)).toThrow(LinkLimitExceeded);
  const allowed = Buffer.concat([Buffer.from([first, 0xfc, 0xff, 0x03]), Buffer.alloc(65_532, 1)]);
  if (first === 0x40) return;
  new PacketReader({ version: 5, limits }, listener).read(allowed);
  expect(others).toEqual([65_536]);
});

test('memory grows with the received bytes, not with the Remaining Length', () => {
  const listener = {
    onPublish: () => undefined,
    onAcknowledgement: () => undefined,
    onRelease: () => undefined,
    onOther: () => undefined,
  };
  const reader = new PacketReader({ version: 4, limits: { packet: 8_000_000 } }, listener);
  const bytes = generate({
    cmd: 'publish',
    topic: 'a',
    payload: Buffer.alloc(7_000_000),
    qos: 0,
    retain: false,
    dup: false,
  });
  reader.read(bytes.subarray(0, 100));
  expect(reader.unfinishedBytes).toBe(65_536);
  readIn(reader, bytes.subarray(100, 1_000_100), 10_000);
  expect(reader.unfinishedBytes).toBeLessThanOrEqual(2_100_000);
  readIn(reader, bytes.subarray(1_000_100), 65_536);
  expect(reader.unfinishedBytes).toBe(0);
});
