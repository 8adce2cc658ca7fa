import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PATH_PROPERTY } from '../../../../src/data-plane/bridges/mqtt/bridge-path.ts';
import type { MqttBridgeConfig } from '../../../../src/data-plane/bridges/mqtt/mqtt-bridge-config.ts';
import { ADMIN, startMosquitto } from '../../../support/mosquitto.ts';
import { startRelay } from '../../../support/relay.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { ADMINISTRATOR, connect, useTestBroker } from '../../broker/embedded.ts';
import { connectedBridge, listen, startTestBridge, statusOf, withoutMqtt5 } from './bridge-world.ts';

const embedded = useTestBroker();
const here = () => ({ url: `mqtt://127.0.0.1:${embedded().mqttPort}`, ...ADMINISTRATOR });
const client = (protocolVersion: 4 | 5 = 5) => connect(embedded().mqttPort, { protocolVersion });

test.each([
  ['MQTT 5 on both sides', false, false],
  ['MQTT 3.1.1 here', true, false],
  ['MQTT 3.1.1 there', false, true],
  ['MQTT 3.1.1 on both sides', true, true],
])(
  'both ways on the same topics, each message arrives once on the other side and none comes back (%s)',
  async (name, oldHere, oldThere) => {
    const other = await startMosquitto();
    const local = here();
    const root = name.replaceAll(/\W/g, '-');
    const bridge = await connectedBridge(
      { local: oldHere ? { ...local, url: await withoutMqtt5(local.url) } : local },
      {
        url: oldThere ? await withoutMqtt5(other.url) : other.url,
        topics: [{ pattern: `${root}/#`, direction: 'both', qos: 2 }],
      },
    );
    const [ours, theirs] = [await client(), await other.client({ protocolVersion: 5 })];
    const [heardHere, heardThere] = [await listen(ours, `${root}/#`), await listen(theirs, `${root}/#`)];
    for (let number = 0; number < 30; number += 1) {
      const qos = (number % 3) as 0 | 1 | 2;
      // Equal messages as well: echoes are not recognized by their content.
      await Promise.all([
        ours.publishAsync(`${root}/same`, `same ${number >> 2}`, { qos }),
        theirs.publishAsync(`${root}/same`, `same ${number >> 2}`, { qos }),
        ours.publishAsync(`${root}/a`, `here ${number}`, { qos }),
        theirs.publishAsync(`${root}/b`, `there ${number}`, { qos }),
      ]);
    }
    await ours.publishAsync(`${root}/end`, 'end of here', { qos: 2 });
    await theirs.publishAsync(`${root}/end`, 'end of there', { qos: 2 });
    await Promise.all([heardHere.text('end of there'), heardThere.text('end of here')]);
    // What would come back goes this way once more.
    await ours.publishAsync(`${root}/end`, 'last of here', { qos: 2 });
    await theirs.publishAsync(`${root}/end`, 'last of there', { qos: 2 });
    for (const heard of [heardHere, heardThere]) {
      await heard.text('last of here');
      await heard.text('last of there');
    }
    for (const { heard } of [heardHere, heardThere]) {
      const count = (topic: string) => heard.filter((message) => message.topic === `${root}/${topic}`).length;
      expect([count('a'), count('b'), count('same'), count('end')]).toEqual([30, 30, 60, 4]);
    }
    const counted = await statusOf(bridge, ({ queuedMessages }) => queuedMessages === 0);
    expect(counted).toMatchObject({ received: 124, delivered: 124, dropped: 0, rejected: 0 });
  },
);

test('prefixes are exchanged, qos is the highest, and what no rule names stays', async () => {
  const other = await startMosquitto();
  await connectedBridge(
    { local: here() },
    {
      url: other.url,
      topics: [
        { pattern: 'out/+', direction: 'out', qos: 1, localPrefix: 'here/', remotePrefix: 'site/1/' },
        { pattern: 'in/#', direction: 'in', qos: 0, localPrefix: 'there/', remotePrefix: 'site/2/' },
        { pattern: '', direction: 'out', qos: 2, localPrefix: 'one', remotePrefix: 'another' },
        { pattern: 'plain', direction: 'both', remotePrefix: 'site/3/' },
      ],
    },
  );
  const [ours, theirs] = [await client(), await other.client()];
  const [heardHere, heardThere] = [await listen(ours, 'there/#'), await listen(theirs, '#')];
  const plain = await listen(await client(), 'plain');
  await ours.publishAsync('here/in/x', 'not bridged', { qos: 2 });
  await ours.publishAsync('here/out/x', 'a', { qos: 2 });
  await ours.publishAsync('one', 'b', { qos: 2 });
  await ours.publishAsync('plain', 'c', { qos: 2 });
  await heardThere.until(() => heardThere.heard.length === 3);
  expect(heardThere.heard.map(({ topic, text, qos }) => [topic, text, qos]).sort()).toEqual([
    ['another', 'b', 2],
    ['site/1/out/x', 'a', 1],
    ['site/3/plain', 'c', 1],
  ]);
  await theirs.publishAsync('site/2/in', 'd', { qos: 2 });
  await theirs.publishAsync('site/2/in/deep/er', 'e', { qos: 2 });
  await theirs.publishAsync('site/3/plain', 'f', { qos: 2 });
  await Promise.all([heardHere.text('e'), plain.text('f')]);
  expect(heardHere.heard.map(({ topic, text, qos }) => [topic, text, qos])).toEqual([
    ['there/in', 'd', 0],
    ['there/in/deep/er', 'e', 0],
  ]);
  expect(plain.texts()).toEqual(['c', 'f']);
});

test('shadows of AWS and other topics with $ are passed both ways, with a prefix and without', async () => {
  const [own, other] = [await startMosquitto(), await startMosquitto()];
  await connectedBridge(
    { local: { url: own.url } },
    {
      url: other.url,
      topics: [
        { pattern: '$aws/things/+/shadow/update/#', direction: 'both' },
        { pattern: 'jobs/#', direction: 'both', localPrefix: 'aws/', remotePrefix: '$aws/' },
      ],
    },
  );
  const [ours, theirs] = [await own.client(), await other.client({ protocolVersion: 5 })];
  const heardThere = await listen(theirs, '$aws/#');
  const [shadows, jobs] = [await listen(await own.client(), '$aws/#'), await listen(await own.client(), 'aws/#')];
  await ours.publishAsync('$aws/things/pump/shadow/update', 'a', { qos: 1, retain: true });
  await ours.publishAsync('aws/jobs/1', 'b', { qos: 1 });
  await heardThere.text('b');
  await theirs.publishAsync('$aws/things/pump/shadow/update/accepted', 'c', { qos: 1 });
  await theirs.publishAsync('$aws/jobs/notify', 'd', { qos: 1 });
  await Promise.all([shadows.text('c'), jobs.text('d')]);
  const topics = ({ heard }: typeof jobs) => heard.map(({ topic, text }) => `${topic} ${text}`);
  expect(topics(shadows)).toEqual(['$aws/things/pump/shadow/update a', '$aws/things/pump/shadow/update/accepted c']);
  expect(topics(jobs)).toEqual(['aws/jobs/1 b', 'aws/jobs/notify d']);
  expect(topics(heardThere).slice(0, 2)).toEqual(['$aws/things/pump/shadow/update a', '$aws/jobs/1 b']);
});

test('retained messages are passed on as such where the rule says so, once', async () => {
  const other = await startMosquitto();
  const [ours, theirs] = [await client(), await other.client({ protocolVersion: 5 })];
  await theirs.publishAsync('kept/before', 'a', { qos: 1, retain: true });
  await theirs.publishAsync('live/before', 'b', { qos: 1, retain: true });
  const relay = await startRelay(other.port);
  const bridge = await connectedBridge(
    { local: here() },
    {
      url: relay.url,
      topics: [
        { pattern: 'kept/#', direction: 'both' },
        { pattern: 'live/#', direction: 'in', retain: false },
      ],
    },
  );
  const heard = await listen(ours, 'kept/#');
  await listen(ours, 'live/#');
  await heard.text('a');
  await theirs.publishAsync('live/now', 'c', { qos: 1, retain: true });
  await theirs.publishAsync('kept/now', 'd', { qos: 1, retain: true });
  await heard.text('d');
  const late = await listen(await client(), '#');
  // The broker keeps messages of other tests, too.
  const kept = () => late.heard.filter(({ topic }) => /^(kept|live)/.test(topic));
  await late.until(() => kept().length >= 2);
  expect(
    kept()
      .map(({ topic, text, retain }) => [topic, text, retain])
      .sort(),
  ).toEqual([
    ['kept/before', 'a', true],
    ['kept/now', 'd', true],
  ]);
  // A message that is not acknowledged when the connection ends comes again. The acknowledgements go before this one.
  await theirs.publishAsync('kept/later', 'e', { qos: 0 });
  await heard.text('e');
  expect(heard.texts().sort()).toEqual(['a', 'c', 'd', 'e']);
  relay.cut();
  await statusOf(bridge, ({ state }) => state !== 'CONNECTED');
  await statusOf(bridge, ({ state }) => state === 'CONNECTED');
  await theirs.publishAsync('kept/end', 'end', { qos: 1 });
  await heard.text('end');
  expect(heard.texts().sort()).toEqual(['a', 'c', 'd', 'e', 'end']);
});

test('properties of MQTT 5 go with the message, its expiry less what it waited', async () => {
  const other = await startMosquitto();
  const bridge = await connectedBridge(
    { local: here() },
    { url: other.url, topics: [{ pattern: 'rich/#', direction: 'out' }] },
  );
  const [ours, theirs] = [await client(), await other.client({ protocolVersion: 5 })];
  const heard = await listen(theirs, 'rich/#');
  const properties = {
    contentType: 'text/plain',
    responseTopic: 'answers/1',
    correlationData: Buffer.from([1, 0, 255]),
    payloadFormatIndicator: true,
    messageExpiryInterval: 1_000,
    userProperties: { name: ['first', 'second'], other: 'ä' },
  };
  await ours.publishAsync('rich/a', 'a', { qos: 1, properties });
  await heard.text('a');
  const { userProperties, messageExpiryInterval, ...rest } = (heard.packets[0]?.properties ?? {}) as typeof properties;
  const { userProperties: before, messageExpiryInterval: _, ...others } = properties;
  expect(rest).toEqual(others);
  expect(messageExpiryInterval).toBeGreaterThan(900);
  expect(userProperties).toEqual({ ...before, [PATH_PROPERTY]: expect.any(String) });

  await other.stop();
  await statusOf(bridge, ({ state }) => state === 'UNREACHABLE');
  await ours.publishAsync('rich/b', 'expires', { qos: 1, properties: { messageExpiryInterval: 1 } });
  await ours.publishAsync('rich/b', 'lives', { qos: 1, properties: { messageExpiryInterval: 60 } });
  await statusOf(bridge, ({ queuedMessages }) => queuedMessages === 2);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  await other.start();
  await statusOf(bridge, ({ queuedMessages }) => queuedMessages === 0);
  expect(bridge.status()).toMatchObject([{ delivered: 2, dropped: 1 }]);
});

test('what would be published to a topic of the broker itself is rejected', async () => {
  const other = await startMosquitto();
  const bridge = await connectedBridge(
    { local: here() },
    { url: other.url, topics: [{ pattern: '#', direction: 'in', remotePrefix: 'from/' }] },
  );
  const theirs = await other.client();
  const heard = await listen(await client(), 'good');
  await theirs.publishAsync('from/$CONTROL/dynamic-security/v1', '{"commands":[]}', { qos: 1 });
  await theirs.publishAsync('from/', 'empty', { qos: 1 });
  await theirs.publishAsync('from/good', 'end', { qos: 1 });
  await heard.text('end');
  await statusOf(bridge, ({ rejected, delivered }) => rejected === 2 && delivered === 1);
  expect(bridge.status()[0]?.lastRejection?.reason).toBeTruthy();
});

test('a message that the other broker permanently refuses is rejected and reported, and delays no other message', async () => {
  const other = await startMosquitto({ access: 'dynsec', lines: ['max_packet_size 20000'] });
  const bridge = await connectedBridge(
    { local: here() },
    {
      url: other.url,
      ...ADMIN,
      topics: [{ pattern: '#', direction: 'out', localPrefix: 'refused/' }],
    },
  );
  const ours = await client();
  await ours.publishAsync('refused/a', 'x'.repeat(30_000), { qos: 1 });
  await ours.publishAsync('refused/b', 'small', { qos: 1 });
  await statusOf(bridge, ({ rejected, delivered }) => rejected + delivered === 2);
  expect(bridge.status()).toMatchObject([{ state: 'CONNECTED', queuedMessages: 0 }]);
  expect(bridge.status()[0]?.rejected).toBeGreaterThanOrEqual(1);
});

test('a message for which the other broker disconnects is found, reported, and no longer delays others', async () => {
  const other = await startMosquitto();
  const bridge = await connectedBridge(
    { local: here() },
    { url: await withoutMqtt5(other.url, 'unwanted'), topics: [{ pattern: 'poison/#', direction: 'out', qos: 1 }] },
  );
  const heard = await listen(await other.client(), 'poison/#');
  const ours = await client();
  for (const text of ['a', 'unwanted', 'b']) await ours.publishAsync('poison/x', text, { qos: 1 });
  await heard.text('b');
  const status = await statusOf(bridge, ({ queuedMessages, state }) => queuedMessages === 0 && state === 'CONNECTED');
  expect(status).toMatchObject({
    rejected: 1,
    lastRejection: { reason: expect.stringContaining('ended the connection each time') },
  });
  expect([...new Set(heard.texts())].filter((text) => text !== 'unwanted')).toEqual(['a', 'b']);
});

test('a queue that cannot be opened is reported and retried', async () => {
  const other = await startMosquitto();
  const folder = temporaryFolder();
  const path = join(folder, 'messages.sqlite');
  mkdirSync(path);
  const bridge = startTestBridge({ local: here(), folder });
  const config = {
    connections: [{ name: 'test', url: other.url, topics: [{ pattern: 'x', direction: 'out' }] }],
  } as const;
  await bridge.apply(config);
  expect(bridge.status()).toMatchObject([{ state: 'FAILED', error: expect.stringContaining('open') }]);
  rmSync(path, { recursive: true });
  await bridge.apply(config);
  await statusOf(bridge, ({ state }) => state === 'CONNECTED');
});

test('one broker on both sides: MQTT 3.1.1 is refused where messages would go round', async () => {
  const other = await startMosquitto();
  const old = await withoutMqtt5(other.url);
  const bridge = startTestBridge({ local: { url: old } });
  const config = (remotePrefix: string) => ({
    connections: [{ name: 'test', url: old, topics: [{ pattern: 'round/#', direction: 'out', remotePrefix }] }],
  });
  await bridge.apply(config('round/') as never);
  expect(await statusOf(bridge, ({ state }) => state === 'FAILED')).toMatchObject({
    error: expect.stringContaining('go round'),
  });
  const theirs = await other.client();
  const heard = await listen(theirs, '#');
  await theirs.publishAsync('round/a', 'not passed on', { qos: 1 });
  await bridge.apply(config('copy/') as never);
  await statusOf(bridge, ({ state }) => state === 'CONNECTED');
  await theirs.publishAsync('round/b', 'passed on', { qos: 1 });
  await heard.until(() => heard.heard.length === 3);
  expect(heard.heard.map(({ topic }) => topic)).toEqual(['round/a', 'round/b', 'copy/round/b']);
});

test('three brokers in a ring: each has a message once, and it does not go round', async () => {
  const brokers = [await startMosquitto(), await startMosquitto(), await startMosquitto()];
  const heard = [];
  for (const [index, broker] of brokers.entries()) {
    const next = brokers[(index + 1) % 3];
    await connectedBridge(
      { local: { url: broker.url }, brokerId: `ring-${index}` },
      { url: next?.url ?? '', topics: [{ pattern: 'ring/#', direction: 'out' }] },
    );
    heard.push(await listen(await broker.client(), 'ring/#'));
  }
  const first = await brokers[0]?.client();
  await first?.publishAsync('ring/a', 'a', { qos: 1 });
  await Promise.all(heard.map((each) => each.text('a')));
  await first?.publishAsync('ring/a', 'end', { qos: 1 });
  await Promise.all(heard.map((each) => each.text('end')));
  // Whatever went on from the last one is there before this.
  const last = await brokers[2]?.client();
  await last?.publishAsync('ring/a', 'behind', { qos: 1 });
  await Promise.all(heard.map((each) => each.text('behind')));
  for (const each of heard) expect(each.texts()).toEqual(['a', 'end', 'behind']);
});

test('a loop through a bridge of Mosquitto is reported with its rate, and stopped by a setting', async () => {
  const other = await startMosquitto();
  const lines = ['connection back', `address 127.0.0.1:${other.port}`, 'topic loop/# both 1'];
  const own = await startMosquitto({ lines });
  const loops: unknown[] = [];
  const bridge = startTestBridge({ local: { url: own.url }, onLoop: (loop) => loops.push(loop) });
  const configOf = (stopsLoops: boolean): MqttBridgeConfig => ({
    connections: [{ name: 'test', url: other.url, stopsLoops, topics: [{ pattern: 'loop/#', direction: 'both' }] }],
  });
  await bridge.apply(configOf(false));
  await statusOf(bridge, ({ state }) => state === 'CONNECTED');
  const ours = await own.client();
  const heard = await listen(ours, 'loop/#');
  // Until the bridge of Mosquitto is connected, nothing comes back.
  await expect
    .poll(async () => {
      await ours.publishAsync('loop/a', 'x', { qos: 1 });
      return bridge.status()[0]?.loop;
    })
    .toMatchObject({ topic: 'loop/a', isStopped: false, perSecond: expect.any(Number) });
  expect(bridge.status()[0]).toMatchObject({ state: 'CONNECTED', returned: expect.any(Number), dropped: 0 });
  expect(loops).toEqual([expect.objectContaining({ connection: 'test', topic: 'loop/a' })]);

  await bridge.apply(configOf(true));
  await statusOf(bridge, ({ loop, dropped }) => loop?.isStopped === true && dropped > 0);
  // A message that goes there and comes back is behind all that went round.
  let number = 0;
  await expect
    .poll(async () => {
      const before = heard.texts().filter((text) => text === 'x').length;
      number += 1;
      await ours.publishAsync('loop/b', `probe ${number}`, { qos: 1 });
      await heard.until(() => heard.texts().filter((text) => text === `probe ${number}`).length > 1);
      return heard.texts().filter((text) => text === 'x').length - before;
    })
    .toBe(0);
});

test('each change of the state of a connection is reported with the reason', async () => {
  const other = await startMosquitto({ access: 'passwords' });
  const bridge = startTestBridge({ local: here() });
  const topics = [{ pattern: 'states/#', direction: 'out' }] as const;
  const connection = { name: 'test', url: other.url, topics };
  await bridge.apply({ connections: [connection] });
  const refused = await statusOf(bridge, ({ state }) => state === 'UNAUTHORISED');
  expect(refused).toMatchObject({
    connectionName: 'test',
    isConnected: false,
    error: expect.stringMatching(/^Remote broker:/),
  });
  await bridge.apply({ connections: [{ ...connection, ...ADMIN }] });
  const connected = await statusOf(bridge, ({ state }) => state === 'CONNECTED');
  expect(connected.isConnected).toBe(true);
  expect(connected.error).toBeUndefined();
  await other.stop();
  expect((await statusOf(bridge, ({ state }) => state === 'UNREACHABLE')).since).toBeGreaterThanOrEqual(
    connected.since,
  );
  await other.start();
  await statusOf(bridge, ({ state }) => state === 'CONNECTED');
  await bridge.apply({ connections: [{ ...connection, ...ADMIN, active: false }] });
  expect(bridge.status()).toMatchObject([{ state: 'INACTIVE', isConnected: false }]);
  await bridge.apply({ connections: [] });
  expect(bridge.status()).toEqual([]);
});

test('a configuration leaves connections that it does not change undisturbed, and ends rules that are gone', async () => {
  const other = await startMosquitto();
  const bridge = startTestBridge({ local: here() });
  const steady = { name: 'steady', url: other.url, topics: [{ pattern: 'steady', direction: 'out' }] } as const;
  const changed = { name: 'changed', url: other.url, topics: [{ pattern: 'first', direction: 'out' }] } as const;
  const both = () => statusOf(bridge, () => bridge.status().every(({ state }) => state === 'CONNECTED'));
  await bridge.apply({ connections: [steady, changed] });
  await both();
  const [before] = bridge.status();
  const theirs = await listen(await other.client(), '#');
  const next = { ...changed, topics: [{ pattern: 'second', direction: 'out' }] } as const;
  await bridge.apply({ connections: [next, { ...steady, queue: { maxMessages: 5 } }] });
  await both();
  expect(bridge.status()[1]).toEqual(before);
  const ours = await client();
  await ours.publishAsync('first', 'gone', { qos: 1 });
  await ours.publishAsync('second', 'now', { qos: 1 });
  await ours.publishAsync('steady', 'end', { qos: 1 });
  await theirs.until(() => theirs.heard.length >= 2);
  expect(theirs.heard.map(({ topic }) => topic).sort()).toEqual(['second', 'steady']);
});

test('filters that take the place of others under load lose nothing, and leave nothing behind', async () => {
  const other = await startMosquitto();
  const root = 'replaced';
  const config = (pattern: string) => ({
    connections: [{ name: 'test', url: other.url, topics: [{ pattern, direction: 'out', qos: 1 }] }],
  });
  const bridge = startTestBridge({ local: here() });
  await bridge.apply(config(`${root}/#`) as never);
  await statusOf(bridge, ({ state }) => state === 'CONNECTED');
  const heard = await listen(await other.client(), `${root}/#`);
  const ours = await client();
  let sent = 0;
  let isOver = false;
  const load = async () => {
    while (!isOver) {
      const text = String(sent);
      sent += 1;
      await ours.publishAsync(`${root}/a/b/c/d/e/f`, text, { qos: 1 });
    }
  };
  const publishing = Promise.all(Array.from({ length: 20 }, load));
  for (const pattern of [`${root}/a/#`, `${root}/+/b/#`, `${root}/#`, `${root}/+/+/#`]) {
    await bridge.apply(config(pattern) as never);
    await statusOf(bridge, ({ state }) => state === 'CONNECTED');
    const until = heard.heard.length + 200;
    await heard.until(() => heard.heard.length >= until);
  }
  isOver = true;
  await publishing;
  const missing = new Set(Array.from({ length: sent }, (_, number) => String(number)));
  let looked = 0;
  await heard.until(() => {
    for (; looked < heard.heard.length; looked += 1) missing.delete(String(heard.heard[looked]?.text));
    return missing.size === 0;
  });
  const before = heard.heard.length;
  await ours.publishAsync(`${root}/a/b/c/d/e/f`, 'once', { qos: 1 });
  await ours.publishAsync(`${root}/a/b/end`, 'end', { qos: 1 });
  await heard.text('end');
  expect(heard.texts().slice(before)).toEqual(['once', 'end']);
});

test('a full queue drops what comes, counts it, and delivers what it has', async () => {
  const other = await startMosquitto();
  const bridge = await connectedBridge(
    { local: here() },
    { url: other.url, topics: [{ pattern: 'full/#', direction: 'out' }], queue: { maxMessages: 50 } },
  );
  await other.stop();
  await statusOf(bridge, ({ state }) => state === 'UNREACHABLE');
  const ours = await client();
  for (let number = 0; number < 80; number += 1) await ours.publishAsync('full/a', String(number), { qos: 1 });
  await statusOf(bridge, ({ queuedMessages, dropped }) => queuedMessages === 50 && dropped === 30);
  await other.start();
  const heard = await listen(await other.client(), 'full/#');
  await statusOf(bridge, ({ delivered }) => delivered === 50);
  expect(heard.heard.length).toBeLessThanOrEqual(50);
});
