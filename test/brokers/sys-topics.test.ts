import { expect, onTestFinished, test } from 'vitest';
import { SysTopics, type SysTopicsOptions } from '../../src/brokers/sys-topics.ts';
import type { BrokerLink } from '../../src/mqtt/broker-link.ts';
import { startScriptedBroker } from '../support/aedes-broker.ts';
import { connectedLink, reached } from '../support/link.ts';
import { startMosquitto } from '../support/mosquitto.ts';

function follow(link: BrokerLink, options: SysTopicsOptions = {}): SysTopics {
  const sys = new SysTopics(link, options);
  onTestFinished(() => sys.close());
  return sys;
}

test('Mosquitto’s $SYS becomes a nested object of texts, without its log', async () => {
  const broker = await startMosquitto({ logTypes: ['notice', 'subscribe'] });
  const sys = follow(await connectedLink({ url: broker.url }), { sampleMs: 500, burstMs: 20 });
  await broker.client();
  for await (const event of sys.watch()) {
    const { topics, date } =
      event.kind === 'SNAPSHOT' ? event.snapshot : event.kind === 'CHANGE' ? event.change : sys.current();
    const { broker: values } = topics as { broker?: { version?: string; clients?: { connected?: string } } };
    if (values?.clients?.connected !== '2') continue;
    expect(values.version).toBe('mosquitto version 2.0.11');
    expect(values).not.toHaveProperty('log');
    expect(Date.now() - date).toBeLessThan(2_000);
    break;
  }
  await expect.poll(() => sys.history().length, { timeout: 5_000 }).toBeGreaterThan(1);
  const dates = sys.history().map(({ date }) => date);
  expect(dates).toEqual([...dates].sort());
});

test('values are kept while the broker is away', async () => {
  const broker = await startMosquitto();
  const link = await connectedLink({ url: broker.url });
  const sys = follow(link);
  await expect.poll(() => sys.valueOf('$SYS/broker/version')).toBe('mosquitto version 2.0.11');
  const lost = reached(link, 'UNREACHABLE');
  await broker.stop();
  await lost;
  expect(sys.current().topics).toMatchObject({ broker: { version: 'mosquitto version 2.0.11' } });
});

test('absurd numbers, long payloads and hostile topic names do no harm', async () => {
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
  const { topics } = sys.current() as unknown as { topics: { broker: { metrics: Record<string, unknown> } } };
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  expect(topics.broker.metrics.constructor).toBe('text');
  expect(topics.broker.metrics.both).toEqual({ below: 'deeper' });
  expect(topics.broker.metrics).not.toHaveProperty('long');
  expect(topics.broker.metrics).not.toHaveProperty('deep');
  expect(Object.keys(topics.broker.metrics.many as object).length).toBeLessThan(2_000);
  expect(sys.history().length).toBeLessThanOrEqual(3);
});
