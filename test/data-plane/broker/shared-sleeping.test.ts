import { expect, test } from 'vitest';
import { isLong } from '../../support/suite.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { startBrokerProcess } from './broker-process.ts';
import { startTestBroker, useTestBroker } from './embedded.ts';
import { rawClient } from './raw-client.ts';
import { acknowledgeAll, got, lastPublish, member, numbers, publish, type Raw, subscribe } from './shared.ts';
import { startTappedCore } from './tapped-core.ts';

/** Members of shared subscriptions that are slow, leave, sleep, or whose broker is killed. */
const broker = useTestBroker();
const SESSION = { clean: false, properties: { sessionExpiryInterval: 60 } } as const;

/** Disconnects a client, and waits until the broker has noticed it: a new connection may use its client id. */
async function leave(client: Raw, port = broker().mqttPort, clientId?: string): Promise<void> {
  await client.leave();
  if (clientId !== undefined) await (await rawClient(port, { clientId: `after-${clientId}` })).leave();
}

test.each(['clean', 'session'])('a slow member does not hold the others (%s)', async (kind) => {
  const port = broker().mqttPort;
  const filter = `$share/g/slow/${kind}`;
  const limited = { receiveMaximum: 1 };
  const slowOptions =
    kind === 'clean' ? { properties: limited } : { clean: false, properties: { ...SESSION.properties, ...limited } };
  const slow = await member(port, filter, { clientId: `slow-${kind}`, acknowledges: false, qos: 1, ...slowOptions });
  const fast = [
    await member(port, filter, { clientId: `fast-1-${kind}` }),
    await member(port, filter, { clientId: `fast-2-${kind}` }),
  ];
  const publisher = await rawClient(port, { clientId: `publisher-${kind}` });
  await publish(publisher, `slow/${kind}`, numbers(300));
  for (const client of fast) await client.settle();
  expect(got(slow)).toHaveLength(1);
  expect([...fast.flatMap(got), ...got(slow)].sort()).toEqual(numbers(300).sort());
  for (const client of fast) expect(got(client).length).toBeGreaterThan(100);
  // [MQTT-4.8.2-4] Its message goes to another one when it leaves.
  await leave(slow);
  await Promise.race(fast.map((client) => client.until('publish', got(client).length + 1)));
  expect(fast.flatMap(got).sort()).toEqual(numbers(300).sort());
});

test.each(['clean', 'session'] as const)(
  'what a member has not acknowledged goes to another one, except QoS 2 that it was sent [MQTT-4.8.2-4, MQTT-4.8.2-5] (%s)',
  async (kind) => {
    const port = broker().mqttPort;
    const filter = `$share/g/left/${kind}/+`;
    const options = kind === 'clean' ? {} : SESSION;
    const leaving = await member(port, filter, { clientId: `leaving-${kind}`, acknowledges: false, ...options });
    const publisher = await rawClient(port, { clientId: `publisher-left-${kind}` });
    await publish(publisher, `left/${kind}/1`, ['once-1', 'once-2'], { qos: 1 });
    await publish(publisher, `left/${kind}/2`, ['exactly'], { qos: 2 });
    await leaving.until('publish', 3);
    const other = await member(port, filter, { clientId: `other-${kind}` });
    await leave(leaving);
    await other.until('publish', 2);
    await other.settle();
    expect(got(other)).toEqual(['once-1', 'once-2']);
    const again = await rawClient(port, { clientId: `leaving-${kind}`, ...options });
    // The session still has the message; without a session it is lost, as the specification demands.
    if (kind === 'session') await again.until('publish', 1);
    await again.settle();
    expect(got(again)).toEqual(kind === 'clean' ? [] : ['exactly']);
    expect(got(other)).toEqual(['once-1', 'once-2']);
  },
);

test('without a connected member, QoS 1 and 2 are queued for a session; when it ends, another one gets them', async () => {
  const port = broker().mqttPort;
  const filter = '$share/g/asleep';
  const sleeper = await member(port, filter, { clientId: 'sleeper', ...SESSION });
  await leave(sleeper);
  const publisher = await rawClient(port, { clientId: 'publisher-asleep' });
  for (const qos of [0, 1, 2] as const) await publish(publisher, 'asleep', [`${qos}-a`, `${qos}-b`], { qos });
  const awake = await member(port, filter, { clientId: 'awake' });
  await publish(publisher, 'asleep', ['live']);
  await awake.until('publish', 1);
  await awake.settle();
  expect(got(awake)).toEqual(['live']);
  // Clean Start ends the session.
  await rawClient(port, { clientId: 'sleeper', clean: true });
  await awake.until('publish', 5);
  expect(got(awake)).toEqual(['live', '1-a', '1-b', '2-a', '2-b']);
  expect(lastPublish(awake)).toMatchObject({ qos: 2 });
});

test('a message keeps its expiry interval when another member gets it [MQTT-3.3.2-6]', async () => {
  const port = broker().mqttPort;
  const filter = '$share/g/expiring';
  const properties = { messageExpiryInterval: 500, userProperties: { a: 'b' } };
  for (const [first, second] of [
    [{}, SESSION],
    [SESSION, {}],
  ] as const) {
    const leaving = await member(port, filter, { clientId: 'expiring-1', acknowledges: false, qos: 1, ...first });
    const publisher = await rawClient(port, { clientId: 'publisher-expiring' });
    await publish(publisher, 'expiring', ['x'], { properties });
    await leaving.until('publish', 1);
    const other = await member(port, filter, { clientId: 'expiring-2', qos: 1, ...second });
    await leave(leaving);
    await other.until('publish', 1);
    const { messageExpiryInterval = 0, ...others } = lastPublish(other)?.properties ?? {};
    expect(messageExpiryInterval).toBeGreaterThan(400);
    expect(messageExpiryInterval).toBeLessThanOrEqual(500);
    expect(others).toEqual({ userProperties: { a: 'b' } });
    // Without `expiresAt`, which is no property of MQTT.
    for (const clientId of ['expiring-1', 'expiring-2']) await (await rawClient(port, { clientId })).leave();
  }
});

test('messages that arrive while a member leaves are not lost', async () => {
  const port = broker().mqttPort;
  const filter = '$share/g/moment';
  // Its queue makes the delivery wait for the disk.
  const recorder = await member(port, 'moment', { clientId: 'recorder', ...SESSION });
  const publisher = await rawClient(port, { clientId: 'publisher-moment' });
  const staying = [
    await member(port, filter, { clientId: 'staying-clean', qos: 1 }),
    await member(port, filter, { clientId: 'staying-session', qos: 1, ...SESSION }),
  ];
  const sent: string[] = [];
  const received: string[] = [];
  for (let round = 0; round < (isLong ? 20 : 8); round += 1) {
    const options = round % 2 === 0 ? {} : SESSION;
    const leaving = await member(port, filter, { clientId: 'leaving-moment', qos: 1, ...options });
    const texts = numbers(20).map((text) => `${round}-${text}`);
    const publishing = publish(publisher, 'moment', texts);
    const left = leaving.leave();
    await Promise.all([publishing, left]);
    sent.push(...texts);
    received.push(...got(leaving));
    await (await rawClient(port, { clientId: 'leaving-moment' })).leave();
  }
  await publish(publisher, 'moment', ['end']);
  for (const client of [recorder, ...staying]) await client.settle();
  received.push(...staying.flatMap(got));
  expect(sent.filter((text) => !received.includes(text))).toEqual([]);
  expect(new Set(got(recorder)).size).toBe(sent.length + 1);
});

test('kill -9 of the broker loses no acknowledged message that is queued for a sleeping member', async () => {
  const folder = temporaryFolder();
  let process = await startBrokerProcess(folder);
  await (await member(process.port, '$share/g/kill/+', { clientId: 'sleeper', ...SESSION })).leave();
  const publisher = await rawClient(process.port, { clientId: 'publisher' });
  await publish(publisher, 'kill/1', numbers(50), { qos: 1 });
  await publish(publisher, 'kill/2', numbers(50), { qos: 2 });
  await process.kill();
  process = await startBrokerProcess(folder);
  const sleeper = await rawClient(process.port, { clientId: 'sleeper', ...SESSION });
  acknowledgeAll(sleeper);
  await sleeper.until('publish', 100);
  expect(got(sleeper)).toEqual([...numbers(50), ...numbers(50)]);
  await sleeper.settle();
  await sleeper.leave();
  // The shared subscription is there, too.
  const awake = await member(process.port, '$share/g/kill/+', { clientId: 'awake' });
  await publish(await rawClient(process.port, { clientId: 'publisher' }), 'kill/1', ['live']);
  await awake.until('publish', 1);
});

test('a member that acknowledges nothing does not fill the memory of the broker', async () => {
  const port = (await startTestBroker({ maxHeapMegabytes: 64 })).mqttPort;
  const silent = await member(port, '$share/g/large', { clientId: 'silent', protocolVersion: 4, acknowledges: false });
  const publisher = await rawClient(port, { clientId: 'publisher' });
  const payload = 'x'.repeat(1_000_000);
  for (let round = 0; round < 16; round += 1) await publish(publisher, 'large', Array(5).fill(payload));
  await silent.until('publish', 80);
  await silent.leave();
  const other = await member(port, '$share/g/large', { clientId: 'other', qos: 1 });
  expect(await subscribe(other, 'x')).toEqual([2]);
});

test('a connected member gets messages although thousands of sessions of the group sleep', async () => {
  const { port, store } = await startTappedCore();
  const sleeper = { username: null, address: '', remotePort: 0, protocol: 'MQTT', protocolVersion: 5 } as const;
  const listener = { port: 0, host: '' };
  const about = { ...sleeper, keepalive: 0, listener, lastConnect: 1, lastDisconnect: null, expirySeconds: null };
  for (const number of numbers(1_500)) {
    const session = store.sessions.open(number, about, {});
    store.sessions.subscribe(number, '$share/g/w', { qos: 1 });
    store.sessions.leave(session, Date.now(), null);
  }
  const awake = await member(port, '$share/g/w', { clientId: 'awake' });
  const publisher = await rawClient(port, { clientId: 'publisher' });
  await publish(publisher, 'w', numbers(5), { qos: 0 });
  await publish(publisher, 'w', numbers(5));
  await awake.settle();
  expect(got(awake)).toEqual([...numbers(5), ...numbers(5)]);
  expect(store.queues.count).toBe(0);
});
