import { setImmediate as turn } from 'node:timers/promises';
import type { IPublishPacket, ISubscribePacket, Packet } from 'mqtt-packet';
import { expect, test } from 'vitest';
import { collect, connect, useTestBroker } from './embedded.ts';
import { rawClient } from './raw-client.ts';
import { publish } from './wire.ts';

/** Packets of one connection are handled in the order in which they came, also those of one piece. */
const broker = useTestBroker();

const ANSWERS = '$CONTROL/cedalo/license/v1/response';
const subscribe = (...filters: string[]): ISubscribePacket => ({
  cmd: 'subscribe',
  messageId: 1,
  subscriptions: filters.map((topic) => ({ topic, qos: 2, nl: false, rap: false, rh: 0 })),
});

/** MQTT 3.1.1 and 5, sessions that end with the connection and those that stay. */
const KINDS = [
  { name: 'clean-4', protocolVersion: 4, clean: true },
  { name: 'kept-4', protocolVersion: 4, clean: false },
  { name: 'clean-5', protocolVersion: 5, clean: true },
  { name: 'kept-5', protocolVersion: 5, clean: true, properties: { sessionExpiryInterval: 60 } },
] as const;

const client = ({ name, ...fields }: (typeof KINDS)[number], test: string) =>
  rawClient(broker().mqttPort, { clientId: `${test}-${name}`, ...fields });

test.each(KINDS)(
  'a client that subscribes and publishes immediately gets its own messages, and responses: $name',
  async (kind) => {
    const { packet, write, packets, until } = await client(kind, 'own');
    const request = {
      topic: '$CONTROL/cedalo/license/v1',
      payload: '{"commands":[{"command":"getLicenseInformation"}]}',
    };
    const sent: Packet[] = [
      publish({ payload: 'before' }),
      subscribe(ANSWERS, 'own/x', 'else/+', '1'),
      publish({ ...request, qos: 1, messageId: 2 }),
      publish({ payload: '0' }),
      publish({ payload: '1', qos: 1, messageId: 3 }),
      publish({ payload: '2', qos: 2, messageId: 4 }),
    ];
    write(Buffer.concat(sent.map(packet)));
    await until('publish', 4);
    expect(packets.find(({ cmd }) => cmd === 'suback')).toMatchObject({ granted: [2, 2, 2, 2] });
    const came = packets.filter(({ cmd }) => cmd === 'publish') as IPublishPacket[];
    const own = came.filter(({ topic }) => topic === 'own/x').map(({ payload, qos }) => `${qos}: ${payload}`);
    expect(own.sort()).toEqual(['0: 0', '1: 1', '2: 2']);
    expect(came.filter(({ topic }) => topic === ANSWERS)).toHaveLength(1);
    await until('pubrec', 1);
    const answers = packets.filter(({ cmd }) => cmd === 'puback' || cmd === 'pubrec');
    expect(answers.map(({ messageId }) => messageId)).toEqual([2, 3, 4]);
  },
);

test.each(KINDS)('no publish is lost beyond the limit of delayed packets: $name', async (kind) => {
  const { packet, write, packets, until } = await client(kind, 'many');
  const numbers = Array.from({ length: 2_000 }, (_, index) => `${index}`);
  const sent = [subscribe('own/x'), ...numbers.map((payload) => publish({ payload }))];
  write(Buffer.concat(sent.map(packet)));
  await until('publish', numbers.length);
  const came = packets.filter(({ cmd }) => cmd === 'publish') as IPublishPacket[];
  expect(came.map(({ payload }) => payload.toString())).toEqual(numbers);
});

test.each(KINDS)(
  'a message that is published right before the disconnect is delivered before the will: $name',
  async (kind) => {
    const watching = await connect(broker().mqttPort);
    const topic = `state/${kind.name}`;
    await watching.subscribeAsync(topic);
    const { until } = collect(watching);
    const will = { topic, payload: Buffer.from('gone'), qos: 1, retain: false } as const;
    for (const end of ['disconnect', 'end'] as const) {
      const { name, ...fields } = kind;
      const { packet, write, leave } = await rawClient(broker().mqttPort, { clientId: `end-${name}`, will, ...fields });
      const sent: Packet[] = [subscribe('own/x'), publish({ topic, payload: end })];
      if (end === 'disconnect') sent.push({ cmd: 'disconnect' });
      write(Buffer.concat(sent.map(packet)));
      if (end === 'end') await leave();
    }
    const texts = (await until((messages) => messages.some(({ text }) => text === 'gone'))).map(({ text }) => text);
    expect(texts).toEqual(['disconnect', 'end', 'gone']);
  },
);

test.each(KINDS)('a client that subscribes and unsubscribes immediately is not subscribed: $name', async (kind) => {
  const { packet, write, packets, until, settle } = await client(kind, 'undo');
  const sent: Packet[] = [
    subscribe('own/x', 'own/y'),
    { cmd: 'unsubscribe', messageId: 2, unsubscriptions: ['own/x'] },
  ];
  write(Buffer.concat(sent.map(packet)));
  await until('unsuback', 1);
  expect(packets.slice(1).map(({ cmd }) => cmd)).toEqual(['suback', 'unsuback']);
  write(Buffer.concat([publish({}), publish({ topic: 'own/y' })].map(packet)));
  await until('publish', 1);
  await turn();
  await settle();
  const came = packets.filter(({ cmd }) => cmd === 'publish') as IPublishPacket[];
  expect(came.map(({ topic }) => topic)).toEqual(['own/y']);
});
