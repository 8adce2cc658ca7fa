import { expect, onTestFinished, test, vi } from 'vitest';
import { SysTopics, type SysTopicsOptions } from '../../../src/domains/brokers/sys-topics.ts';
import { BrokerControls } from '../../../src/protocol/control/broker-controls.ts';
import type { BrokerLink } from '../../../src/protocol/mqtt/broker-link.ts';
import { startScriptedBroker } from '../../support/aedes-broker.ts';
import { connectedLink, reached } from '../../support/link.ts';
import { ADMIN, mosquittoVersion, startMosquitto } from '../../support/mosquitto.ts';
import { startRelay } from '../../support/relay.ts';

function follow(link: BrokerLink, options: SysTopicsOptions = {}): SysTopics {
  const sys = new SysTopics(link, options);
  onTestFinished(() => sys.close());
  return sys;
}

test('Mosquitto’s $SYS becomes a nested object of texts, without its log', async () => {
  const broker = await startMosquitto({ logTypes: ['notice', 'subscribe'] });
  const sys = follow(await connectedLink({ url: broker.url }), { sampleMs: 500, burstMs: 20 });
  const from = Date.now();
  await broker.client();
  const connected = () => sys.valueOf('$SYS/broker/clients/connected');
  await new Promise<void>((resolve) => sys.onBurst(() => connected() === '2' && resolve()));
  const { topics, date } = sys.current() as { topics: { broker: { version?: string } }; date: number };
  expect(topics.broker.version).toBe(`mosquitto version ${mosquittoVersion()}`);
  expect(topics.broker).not.toHaveProperty('log');
  expect(date).toBeGreaterThanOrEqual(from);
  await expect.poll(() => sys.history().length).toBeGreaterThan(1);
  const dates = sys.history().map(({ date }) => date);
  expect(dates).toEqual([...dates].sort());
});

test('values remain while the broker is unreachable', async () => {
  const broker = await startMosquitto();
  const link = await connectedLink({ url: broker.url });
  const sys = follow(link);
  await expect.poll(() => sys.valueOf('$SYS/broker/version')).toBe(`mosquitto version ${mosquittoVersion()}`);
  const lost = reached(link, 'UNREACHABLE');
  await broker.stop();
  await lost;
  expect(sys.current().topics).toMatchObject({ broker: { version: `mosquitto version ${mosquittoVersion()}` } });
});

test('a value of the former connection is known as such', async () => {
  const broker = await startScriptedBroker(() => []);
  const relay = await startRelay(Number(new URL(broker.url).port));
  const link = await connectedLink({ url: relay.url });
  const sys = follow(link);
  const topic = '$SYS/broker/publish/messages/dropped';
  await expect.poll(() => broker.publish(topic, '100').then(() => sys.receivedValueOf(topic))).toBe('100');
  const lost = reached(link, 'UNREACHABLE');
  relay.cut();
  await lost;
  await expect.poll(() => link.status.state).toBe('CONNECTED');
  expect([sys.valueOf(topic), sys.receivedValueOf(topic)]).toEqual(['100', null]);
});

test('invalid numbers, long payloads and hostile topic names do no harm', async () => {
  const broker = await startScriptedBroker(() => []);
  const link = await connectedLink({ url: broker.url });
  const sys = follow(link, { history: 3, sampleMs: 0, burstMs: 5 });
  await expect
    .poll(async () => {
      await broker.publish('$SYS/broker/heap/current', '100');
      return sys.valueOf('$SYS/broker/heap/current');
    })
    .toBe('100');
  await broker.publish('$SYS/broker/heap/current', '18446744073708380104');
  await broker.publish('$SYS/broker/metrics/__proto__/polluted', 'yes');
  await broker.publish('$SYS/broker/metrics/constructor', 'text');
  await broker.publish('$SYS/broker/metrics/both', 'leaf');
  await broker.publish('$SYS/broker/metrics/both/below', 'deeper');
  await broker.publish('$SYS/broker/metrics/long', 'x'.repeat(2_000));
  await broker.publish(`$SYS/broker/metrics/deep${'/x'.repeat(60)}`, 'end');
  for (let n = 0; n < 3_000; n++) await broker.publish(`$SYS/broker/metrics/many/${n}`, String(n));
  await broker.publish('$SYS/broker/heap/current', '101');
  await expect.poll(() => sys.valueOf('$SYS/broker/heap/current')).toBe('101');
  await broker.publish('$SYS/broker/heap/current', '18446744073708380104');
  // What cannot be is not what was before either.
  await expect.poll(() => sys.valueOf('$SYS/broker/heap/current')).toBeNull();
  const { topics } = sys.current() as unknown as { topics: { broker: { metrics: Record<string, unknown> } } };
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  expect(topics.broker.metrics.constructor).toBe('text');
  expect(topics.broker.metrics.both).toEqual({ below: 'deeper' });
  expect(topics.broker.metrics).not.toHaveProperty('long');
  expect(topics.broker.metrics).not.toHaveProperty('deep');
  expect(Object.keys(topics.broker.metrics.many as object).length).toBeLessThan(2_000);
  expect(sys.history().length).toBeLessThanOrEqual(3);
});

test('values that a broker does not publish again after its restart are dropped', async () => {
  const broker = await startScriptedBroker(() => []);
  const relay = await startRelay(Number(new URL(broker.url).port));
  const link = await connectedLink({ url: relay.url });
  const sys = follow(link, { burstMs: 5 });
  const tell = async (name: string, value: string) => {
    await expect
      .poll(async () => {
        await broker.publish(`$SYS/broker/${name}`, value);
        return sys.valueOf(`$SYS/broker/${name}`);
      })
      .toBe(value);
  };
  await tell('clients/maximum', '50');
  await tell('uptime', '100 seconds');
  const lose = async () => {
    const lost = reached(link, 'UNREACHABLE');
    relay.cut();
    await lost;
    await reached(link, 'CONNECTED');
  };
  await lose();
  await tell('uptime', '110 seconds');
  expect(sys.valueOf('$SYS/broker/clients/maximum')).toBe('50');
  await lose();
  await tell('clients/total', '3');
  await tell('uptime', '4 seconds');
  await expect.poll(() => sys.valueOf('$SYS/broker/clients/maximum')).toBeNull();
  expect(sys.valueOf('$SYS/broker/clients/total')).toBe('3');
  expect(sys.current().topics).toEqual({ broker: { clients: { total: '3' }, uptime: '4 seconds' } });
});

test('a burst that comes a little earlier than every ten seconds is a sample', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const broker = await startScriptedBroker(() => []);
  const sys = follow(await connectedLink({ url: broker.url }), { burstMs: 5 });
  await expect
    .poll(async () => {
      await broker.publish('$SYS/broker/uptime', '10 seconds');
      return sys.history().length;
    })
    .toBe(1);
  vi.setSystemTime(Date.now() + 9_900);
  await broker.publish('$SYS/broker/uptime', '20 seconds');
  await expect.poll(() => sys.history().length).toBe(2);
});

/** A Mosquitto with an account that may connect only, and what grants it all subscriptions without a disconnect. */
async function withoutRights() {
  const { url } = await startMosquitto({ access: 'dynsec' });
  const admin = new BrokerControls(await connectedLink({ url, ...ADMIN }), { timeoutMs: 30_000 });
  onTestFinished(() => admin.close());
  await admin.call('dynamic-security', 'createClient', { username: 'weak', password: 'weak' });
  const allow = (isAllowed: boolean) =>
    admin.call('dynamic-security', 'setDefaultACLAccess', { acls: [{ acltype: 'subscribe', allow: isAllowed }] });
  return { url, link: await connectedLink({ url, username: 'weak', password: 'weak' }), allow };
}

const REFUSED = /^This service may not read \$SYS\/#\. The broker does not allow user "weak".*subscribePattern/;
const VERSION = '$SYS/broker/version';

test('what the broker refuses is reported, and subscribed again after a change of access control', async () => {
  const { link, allow } = await withoutRights();
  const sys = follow(link, { refusedMs: 2 ** 30 });
  let changes = 0;
  sys.onProblem(() => {
    changes += 1;
  });
  await expect.poll(() => sys.problem).toMatch(REFUSED);
  await allow(true);
  sys.lookAgain();
  await expect.poll(() => sys.valueOf(VERSION)).toContain('mosquitto');
  await expect.poll(() => [sys.problem, changes]).toEqual([null, 2]);
});

test('what the broker refuses is subscribed again after a time, and after a reconnect that refuses what was granted', async () => {
  const { link, allow } = await withoutRights();
  const sys = follow(link, { refusedMs: 50 });
  await expect.poll(() => sys.problem).toMatch(REFUSED);
  await allow(true);
  await expect.poll(() => sys.valueOf(VERSION)).toContain('mosquitto');
  await allow(false);
  link.restart('rights are gone');
  await expect.poll(() => sys.problem).toMatch(REFUSED);
  await allow(true);
  await expect.poll(() => sys.problem).toBeNull();
});

test('a sample of the history has the topics and values of its time', async () => {
  const broker = await startScriptedBroker(() => []);
  const sys = follow(await connectedLink({ url: broker.url }), { sampleMs: 0, burstMs: 5 });
  const metrics = () =>
    sys.history().map(({ topics }) => (topics as { broker: { metrics: Record<string, string> } }).broker?.metrics);
  const publish = async (topic: string, text: string, sampled: string | null = text) => {
    await broker.publish(`$SYS/broker/metrics/${topic}`, text);
    await expect.poll(() => metrics().at(-1)?.[topic] ?? null).toBe(sampled);
  };
  await expect
    .poll(async () => {
      await broker.publish('$SYS/broker/metrics/first', '"1"\n,');
      return sys.history().length;
    })
    .toBeGreaterThan(0);
  await publish('first', '2');
  await publish('second', 'é');
  await publish('first', '18446744073708380104', null);
  expect(metrics()[0]).toEqual({ first: '"1"\n,' });
  expect(metrics().slice(-3)).toEqual([{ first: '2' }, { first: '2', second: 'é' }, { second: 'é' }]);
  expect(sys.current().topics).toEqual(sys.history().at(-1)?.topics);
});
