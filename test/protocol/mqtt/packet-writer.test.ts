import { PassThrough } from 'node:stream';
import { type Packet, parser } from 'mqtt-packet';
import { expect, test } from 'vitest';
import { PacketWriter, PUBACK, PUBREC, PUBREL } from '../../../src/protocol/mqtt/packet-writer.ts';

function written(version: 4 | 5, write: (writer: PacketWriter) => void) {
  const stream = new PassThrough({ highWaterMark: 16 * 1024 * 1024 });
  const writer = new PacketWriter(stream, version);
  write(writer);
  writer.close(true);
  const packets: Packet[] = [];
  const reading = parser({ protocolVersion: version });
  reading.on('packet', (packet) => packets.push(packet));
  reading.parse(stream.read(stream.readableLength) ?? Buffer.alloc(0));
  return packets;
}

test.each([4, 5] as const)('what is written is read the same by others, whatever its size (MQTT %i)', (version) => {
  const sizes = [0, 1, 100, 127, 128, 16_000, 16_384, 70_000, 2_097_152];
  const packets = written(version, (writer) => {
    for (const [index, size] of sizes.entries()) {
      writer.publish({ topic: `é/${index}`, payload: 'ü'.repeat(size / 2), qos: 1, retain: false }, index + 1);
      writer.publish({ topic: 'b', payload: Buffer.alloc(size, 7), qos: 0, retain: true }, 0);
      writer.acknowledge(PUBACK, 65_535);
    }
    writer.acknowledge(PUBREC, 1);
    writer.acknowledge(PUBREL, 2);
  });
  const publishes = packets.filter((packet) => packet.cmd === 'publish');
  expect(packets.filter(({ cmd }) => cmd === 'puback')).toHaveLength(sizes.length);
  expect(packets.slice(-2)).toMatchObject([
    { cmd: 'pubrec', messageId: 1 },
    { cmd: 'pubrel', messageId: 2 },
  ]);
  for (const [index, size] of sizes.entries()) {
    const [text, bytes] = publishes.slice(index * 2);
    expect(text).toMatchObject({ topic: `é/${index}`, qos: 1, retain: false, messageId: index + 1 });
    expect(text?.payload.toString()).toBe('ü'.repeat(size / 2));
    expect(bytes).toMatchObject({ topic: 'b', qos: 0, retain: true });
    expect(Buffer.alloc(size, 7).equals(bytes?.payload as Buffer)).toBe(true);
  }
});

test('each callback is called once, when the packet was written or the writer closed', async () => {
  const stream = new PassThrough();
  const writer = new PacketWriter(stream, 5);
  const packet = { topic: 'a', payload: 'x', qos: 0, retain: false } as const;
  const told: string[] = [];
  const first = new Promise<void>((resolve) => {
    writer.publish(packet, 0, (error) => {
      told.push(`first ${error ? 'lost' : 'written'}`);
      resolve();
    });
  });
  await first;
  writer.publish(packet, 0, (error) => told.push(`second ${error ? 'lost' : 'written'}`));
  writer.close(false);
  writer.publish(packet, 0, (error) => told.push(`third ${error ? 'lost' : 'written'}`));
  expect(told).toEqual(['first written', 'second lost', 'third lost']);
});

test('a link that writes little takes little memory', async () => {
  const { arrayBuffers: before } = process.memoryUsage();
  const writers = Array.from({ length: 1_000 }, () => {
    const stream = new PassThrough();
    stream.resume();
    return new PacketWriter(stream, 5);
  });
  const publish = (payload: Buffer) => {
    for (const writer of writers) writer.publish({ topic: 'a', payload, qos: 0, retain: false }, 0);
    return new Promise((resolve) => setImmediate(resolve));
  };
  for (let round = 0; round < 20; round += 1) await publish(Buffer.alloc(10));
  const kilobytes = () => (process.memoryUsage().arrayBuffers - before) / 1_024 / writers.length;
  expect(kilobytes()).toBeLessThan(16);
});
