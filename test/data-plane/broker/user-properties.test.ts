import { expect, test } from 'vitest';
import { startMosquitto } from '../../support/mosquitto.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { startTestBroker } from './embedded.ts';
import { rawClient } from './raw-client.ts';
import { packet, properties, text } from './wire.ts';

/** The order of user properties with equal names, on both brokers. mqtt-packet groups them, so bytes are compared. */

const PORTS = {
  embedded: async () => (await startTestBroker()).mqttPort,
  Mosquitto: async () => (await startMosquitto()).port,
};
const BROKERS = ['embedded', 'Mosquitto'] as const;

const PAIRS = [
  ['a', '1'],
  ['b', ''],
  ['a', ''],
  ['2', '°'],
  ['1', 'x'],
  ['a', '3'],
  ['__proto__', 'y'],
  ['', 'z'],
  ['__proto__', 'y'],
] as const;
const ORDERED = Buffer.concat(PAIRS.map(([name, value]) => Buffer.concat([Buffer.of(0x26), text(name), text(value)])));

const publish = (first: number, topic: string, id: Buffer = Buffer.of(0, 9)) =>
  packet(first, text(topic), (first & 6) === 0 ? Buffer.alloc(0) : id, properties(ORDERED), Buffer.from('payload'));

const countOf = (bytes: Buffer): number => bytes.toString('latin1').split(ORDERED.toString('latin1')).length - 1;

test.each(BROKERS)('user properties keep their order [MQTT-3.3.2-18] (%s)', async (name) => {
  const port = await PORTS[name]();
  const publisher = await rawClient(port, { clientId: 'publisher' });
  const subscriber = await rawClient(port, { clientId: 'subscriber' }, 'order/#');
  const older = await rawClient(port, { clientId: 'older', protocolVersion: 4 }, 'order/#');
  const persistent = { clientId: 'persistent', properties: { sessionExpiryInterval: 100 } };
  const absent = await rawClient(port, persistent, 'order/#');
  await absent.leave();

  publisher.write(publish(0x30, 'order/0'));
  publisher.write(publish(0x32, 'order/1'));
  publisher.write(publish(0x35, 'order/2', Buffer.of(0, 10)));
  await publisher.until('pubrec', 1);
  publisher.send({ cmd: 'pubrel', messageId: 10 });
  await subscriber.until('publish', 3);
  expect(countOf(subscriber.bytes())).toBe(3);
  await older.until('publish', 3);
  expect(countOf(older.bytes())).toBe(0);

  const late = await rawClient(port, { clientId: 'late' }, 'order/#');
  await late.until('publish', 1);
  expect(countOf(late.bytes())).toBe(1);

  const back = await rawClient(port, { ...persistent, clean: false });
  await back.until('publish', 2);
  expect(countOf(back.bytes())).toBe(2);
});

test.each(BROKERS)('the user properties of a will keep their order [MQTT-3.1.3-10] (%s)', async (name) => {
  const port = await PORTS[name]();
  const subscriber = await rawClient(port, { clientId: 'subscriber' }, 'will/#');
  for (const delay of [0, 1]) {
    const interval = Buffer.of(0x18, 0, 0, 0, delay);
    const client = await rawClient(
      port,
      packet(
        0x10,
        text('MQTT'),
        Buffer.of(5, 0xc6, 0, 0),
        properties(Buffer.of(0x11, 0, 0, 0, 60)),
        text(`will-${delay}`),
        properties(interval, ORDERED),
        text(`will/${delay}`),
        text('gone'),
        text('admin'),
        text('correct horse'),
      ),
    );
    await client.leave();
  }
  await subscriber.until('publish', 2);
  expect(countOf(subscriber.bytes())).toBe(2);
});

test('they keep their order in the stores of the embedded broker', async () => {
  const folder = temporaryFolder();
  const persistent = { clientId: 'persistent', properties: { sessionExpiryInterval: 100 } };
  const first = await startTestBroker({ folder });
  const subscriber = await rawClient(first.mqttPort, persistent, 'order/#');
  await subscriber.leave();
  const publisher = await rawClient(first.mqttPort, {});
  publisher.write(publish(0x33, 'order/1'));
  await publisher.until('puback', 1);
  await first.close();

  const second = await startTestBroker({ folder });
  const back = await rawClient(second.mqttPort, { ...persistent, clean: false });
  await back.until('publish', 1);
  expect(countOf(back.bytes())).toBe(1);
  const late = await rawClient(second.mqttPort, {}, 'order/#');
  await late.until('publish', 1);
  expect(countOf(late.bytes())).toBe(1);
});

test.each(BROKERS)('user properties count for the Maximum Packet Size [MQTT-3.1.2-24] (%s)', async (name) => {
  const port = await PORTS[name]();
  const publisher = await rawClient(port, { clientId: 'publisher' });
  // The fixed header that a broker sends is the same.
  const { length } = publish(0x30, 'size');
  const limited = (clientId: string, maximumPacketSize: number) =>
    rawClient(port, { clientId, properties: { maximumPacketSize } }, 'size');
  // Mosquitto 2.0.11 does not count the first byte of a packet.
  const tooSmall = length - (name === 'embedded' ? 1 : 2);
  const [enough, less] = [await limited('enough', length), await limited('less', tooSmall)];
  publisher.write(publish(0x30, 'size'));
  publisher.send({ cmd: 'publish', topic: 'size', payload: 'small', qos: 0, dup: false, retain: false });
  await enough.until('publish', 2);
  await less.until('publish', 1);
  expect([countOf(enough.bytes()), countOf(less.bytes())]).toEqual([1, 0]);
});
