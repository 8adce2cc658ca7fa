import { expect, test } from 'vitest';
import { ADMIN, sinceVersion, startClient, startMosquitto } from '../../support/mosquitto.ts';
import { dynsecDone } from './dynsec.ts';
import { startBrokerHere } from './embedded.ts';
import { rawClient } from './raw-client.ts';
import { BROKERS, got, lastPublish, member, numbers, PORTS, publish, reasonOf, subscribe } from './shared.ts';

/**
 * Shared subscriptions (MQTT 5, 4.8.2) of both brokers. Mosquitto 2.0.11 differs where it does not follow the
 * specification: it accepts share names that are empty or a wildcard, filters without a share name, and No Local. It
 * also counts the share name as levels of the filter.
 */
const VERSIONS = [4, 5] as const;
const CASES = BROKERS.flatMap((name) => VERSIONS.map((protocolVersion) => ({ name, protocolVersion })));
const SESSION = { clean: false, properties: { sessionExpiryInterval: 60 } } as const;
const TOPIC_FILTER_INVALID = 0x8f;
const PROTOCOL_ERROR = 0x82;
const NOT_AUTHORIZED = 0x87;
const FAILURE = 0x80;

test.each(CASES)('share names are checked [MQTT-4.8.2-1, MQTT-4.8.2-2] ($name, MQTT $protocolVersion)', async (one) => {
  const { name, protocolVersion } = one;
  const port = await PORTS[name]();
  const refused = ['$share/a+/b', '$share/a#/b', '$share/g/a/#/b', '$share/g/a+'];
  const refusedByEmbedded = ['$share//a', '$share/+/a', '$share/#/a', '$share/g', '$share/g/', '$share/'];
  for (const filter of name === 'embedded' ? [...refused, ...refusedByEmbedded] : refused) {
    const client = await rawClient(port, { clientId: 'refused', protocolVersion });
    expect(await subscribe(client, filter), filter).toBeNull();
    const reason = await reasonOf(client);
    // Mosquitto sends the reason code of a malformed packet.
    if (name === 'embedded') expect(reason).toBe(protocolVersion === 5 ? TOPIC_FILTER_INVALID : undefined);
  }
  const client = await rawClient(port, { clientId: 'granted', protocolVersion });
  const granted = ['$share/g/a', '$share/g//', '$share/g/#', '$share/g/+/a', '$share/$/a', '$share/ü/$SYS/#'];
  expect(await subscribe(client, granted, { qos: 1 })).toEqual(granted.map(() => 1));
});

test('No Local is refused for a shared subscription, and only there [MQTT-3.8.3-4]', async () => {
  const port = await PORTS.embedded();
  const client = await rawClient(port, { clientId: 'local' });
  expect(await subscribe(client, 'a', { nl: true })).toEqual([2]);
  expect(await subscribe(client, '$share/g/a')).toEqual([2]);
  expect(await subscribe(client, '$share/g/b', { nl: true })).toBeNull();
  expect(await reasonOf(client)).toBe(PROTOCOL_ERROR);
});

test.each(CASES)(
  'each message goes to one member of each group, in turn ($name, MQTT $protocolVersion)',
  async (one) => {
    const { name, protocolVersion } = one;
    const port = await PORTS[name]();
    const join = (clientId: string, group: string, qos: 0 | 1 | 2) =>
      member(port, `$share/${group}/work/+`, { clientId, protocolVersion, qos });
    for (const qos of [0, 1, 2] as const) {
      const members = [await join('one', 'g', qos), await join('two', 'g', qos), await join('three', 'g', qos)];
      const single = await join('single', 'other', qos);
      const publisher = await rawClient(port, { clientId: 'publisher' });
      await publish(publisher, 'work/a', numbers(300), { qos });
      for (const client of [...members, single]) await client.settle();
      const shares = members.map(got);
      expect(shares.map(({ length }) => length)).toEqual([100, 100, 100]);
      expect(shares.flat().sort()).toEqual(numbers(300).sort());
      expect(got(single)).toEqual(numbers(300));
      for (const client of [...members, single, publisher]) await client.leave();
    }
  },
);

test.each(CASES)(
  'the QoS is at most the granted one of the member [MQTT-4.8.2-3] ($name, $protocolVersion)',
  async (one) => {
    const { name, protocolVersion } = one;
    const port = await PORTS[name]();
    const publisher = await rawClient(port, { clientId: 'publisher' });
    for (const granted of [0, 1, 2] as const) {
      const client = await member(port, '$share/g/a', { clientId: 'member', protocolVersion, qos: granted });
      for (const qos of [0, 1, 2] as const) {
        await publish(publisher, 'a', ['x'], { qos });
        await client.settle();
        expect(lastPublish(client)).toMatchObject({ qos: Math.min(qos, granted), retain: false });
      }
      await client.leave();
    }
  },
);

test.each(CASES)('a group gets no retained messages at SUBSCRIBE ($name, MQTT $protocolVersion)', async (one) => {
  const { name, protocolVersion } = one;
  const port = await PORTS[name]();
  const publisher = await rawClient(port, { clientId: 'publisher' });
  await publish(publisher, 'a', ['retained'], { retain: true });
  const client = await member(port, '$share/g/a', { clientId: 'member', protocolVersion });
  await client.settle();
  // MQTT 5, 4.8.2: none are sent at SUBSCRIBE. Mosquitto 2.0.11 sends them.
  const expected = name === 'embedded' ? [] : sinceVersion({ '2.0.0': ['retained'], '2.0.22': [] });
  expect(got(client)).toEqual(expected);
  expect(await subscribe(client, 'a')).toEqual([2]);
  await client.settle();
  expect(got(client)).toEqual([...expected, 'retained']);
});

test.each(BROKERS)('Subscription Identifiers and Retain As Published are those of the member (%s)', async (name) => {
  const port = await PORTS[name]();
  const client = await rawClient(port, { clientId: 'member' });
  await subscribe(client, '$share/g/+', { identifier: 7, rap: true });
  const publisher = await rawClient(port, { clientId: 'publisher' });
  await publish(publisher, 'a', ['x'], { retain: true });
  await client.settle();
  expect(lastPublish(client)).toMatchObject({ retain: true, properties: { subscriptionIdentifier: 7 } });
  // [MQTT-3.3.4-4] A subscription of its own is another delivery.
  await subscribe(client, 'b', { identifier: 8 });
  await publish(publisher, 'b', ['y'], { retain: true });
  await client.settle();
  const identifiers = client.packets.flatMap((packet) =>
    packet.cmd === 'publish' && packet.topic === 'b' ? packet.properties?.subscriptionIdentifier : [],
  );
  expect(identifiers.sort()).toEqual([7, 8]);
});

test.each(BROKERS)('a refused message is not sent again [MQTT-4.8.2-6] (%s)', async (name) => {
  const port = await PORTS[name]();
  for (const options of [{}, SESSION]) {
    for (const qos of [1, 2] as const) {
      const connect = { ...options, acknowledges: false } as const;
      const refusing = await member(port, '$share/g/a', { clientId: 'refusing', ...connect });
      const publisher = await rawClient(port, { clientId: 'publisher' });
      await publish(publisher, 'a', ['x'], { qos });
      await refusing.until('publish', 1);
      const { messageId = 0 } = lastPublish(refusing) ?? {};
      refusing.send({ cmd: qos === 1 ? 'puback' : 'pubrec', messageId, reasonCode: FAILURE });
      await refusing.settle();
      const other = await member(port, '$share/g/a', { clientId: 'other' });
      await refusing.leave();
      await other.settle();
      const again = await member(port, '$share/g/b', { clientId: 'refusing', ...connect });
      await again.settle();
      expect([got(other), got(again), again.count('pubrel')]).toEqual([[], [], 0]);
      for (const client of [other, publisher]) await client.leave();
      again.send({ cmd: 'unsubscribe', messageId: 9, unsubscriptions: ['$share/g/a', '$share/g/b'] });
      await again.until('unsuback', 1);
      await again.leave();
    }
  }
});

const ACCESS = {
  embedded: async () => (await startBrokerHere()).mqttPort,
  Mosquitto: async () => (await startMosquitto({ access: 'dynsec' })).port,
};

test.each(BROKERS)(
  'access control compares the whole filter at SUBSCRIBE, and the topic at delivery (%s)',
  async (name) => {
    const port = await ACCESS[name]();
    const admin = await startClient(`mqtt://127.0.0.1:${port}`, { ...ADMIN, clientId: 'admin', protocolVersion: 5 });
    const acls = [
      ['subscribePattern', '$share/+/open/#', true],
      ['subscribeLiteral', '$share/only/closed', true],
      ['subscribePattern', 'plain/#', true],
      ['publishClientSend', 'open/#', true],
      ['publishClientReceive', 'open/secret', false],
      ['unsubscribeLiteral', '$share/g/open/b', false],
    ].map(([acltype, topic, allow]) => ({ acltype, topic, allow, priority: 0 }));
    await dynsecDone(
      admin,
      { command: 'createRole', rolename: 'reader', acls },
      ...['one', 'two'].map((username) => ({ command: 'createClient', username, password: 'x' })),
      { command: 'addClientRole', username: 'one', rolename: 'reader' },
      { command: 'addClientRole', username: 'two', rolename: 'reader' },
    );
    const as = (username: string) => rawClient(port, { clientId: username, username, password: Buffer.from('x') });
    const one = await as('one');
    const filters = ['$share/g/open/a', '$share/g/open/b', '$share/only/closed', '$share/g/closed', '$share/g/plain/a'];
    const expected = [2, 2, 2, NOT_AUTHORIZED, NOT_AUTHORIZED];
    expect(await subscribe(one, filters)).toEqual(expected);
    one.send({ cmd: 'unsubscribe', messageId: 9, unsubscriptions: ['$share/g/open/a', '$share/g/open/b'] });
    await one.until('unsuback', 1);
    expect(one.packets.at(-1)).toMatchObject({ granted: [0, NOT_AUTHORIZED] });

    await subscribe(one, '$share/g/open/+');
    const publisher = await as('two');
    await publish(publisher, 'open/secret', ['x']);
    await publish(publisher, 'open/c', ['y']);
    await one.until('publish', 1);
    await one.settle();
    expect(got(one)).toEqual(['y']);
  },
);
