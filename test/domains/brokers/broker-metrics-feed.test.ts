import type { MqttClient } from 'mqtt';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { BrokerMetrics } from '../../../src/domains/brokers/broker-metrics.ts';
import { BrokerMetricsFeed, type BrokerMetricsFeedOptions } from '../../../src/domains/brokers/broker-metrics-feed.ts';
import { SysTopics, type SysTopicsOptions } from '../../../src/domains/brokers/sys-topics.ts';
import type { BrokerLink } from '../../../src/protocol/mqtt/broker-link.ts';
import { ADMINISTRATOR, connect, startTestBroker } from '../../data-plane/broker/embedded.ts';
import { startScriptedBroker } from '../../support/aedes-broker.ts';
import { connectedLink, reached } from '../../support/link.ts';
import { mosquittoVersion, startMosquitto } from '../../support/mosquitto.ts';
import { startRelay } from '../../support/relay.ts';

interface Followed {
  readonly feed: BrokerMetricsFeed;
  /** Waits for metrics that match, and returns all up to then. */
  until(fits: (metrics: BrokerMetrics, isConnected: boolean) => boolean): Promise<BrokerMetrics>;
}

function follow(link: BrokerLink, options: BrokerMetricsFeedOptions & SysTopicsOptions = {}): Followed {
  const sys = new SysTopics(link, options);
  const feed = new BrokerMetricsFeed(options);
  feed.attach(link, sys);
  onTestFinished(() => {
    feed.close();
    sys.close();
  });
  const events = feed.watch();
  return {
    feed,
    until: async (fits) => {
      for await (const event of { [Symbol.asyncIterator]: () => ({ next: () => events.next() }) }) {
        const state = event.kind === 'SNAPSHOT' ? event.snapshot : event.kind === 'CHANGE' ? event.change : null;
        if (state?.metrics && fits(state.metrics, state.isConnected)) return state.metrics;
      }
      throw new Error('The feed ended');
    },
  };
}

/** What a plain client reads below $SYS, as it was when the broker had been up for so many seconds. */
async function readByClient(client: MqttClient): Promise<(uptime: number) => Record<string, string> | undefined> {
  const told: Record<string, string> = {};
  const moments = new Map<number, Record<string, string>>();
  client.on('message', (topic, payload) => {
    const text = payload.toString();
    // A retained one and a live one may say the same.
    const isOver = topic === '$SYS/broker/uptime' && text !== told[topic];
    if (isOver) moments.set(Number.parseInt(told[topic] ?? '-1', 10), { ...told });
    told[topic] = text;
  });
  await client.subscribeAsync('$SYS/broker/#');
  return (uptime) => moments.get(uptime);
}

/** The numbers by the topics that they come from. */
const byTopic = (m: BrokerMetrics): Record<string, number | string | null> => ({
  version: m.brokerVersion,
  uptime: m.uptimeSeconds === null ? null : `${m.uptimeSeconds} seconds`,
  'clients/connected': m.clients.connected,
  'clients/disconnected': m.clients.disconnected,
  'clients/total': m.clients.total,
  'clients/maximum': m.clients.maximum,
  'clients/expired': m.clients.expired,
  'messages/received': m.messages.received,
  'messages/sent': m.messages.sent,
  'messages/stored': m.messages.stored,
  'store/messages/bytes': m.messages.storedBytes,
  'publish/messages/received': m.publish.received,
  'publish/messages/sent': m.publish.sent,
  'publish/messages/dropped': m.publish.dropped,
  'publish/bytes/received': m.publish.bytesReceived,
  'publish/bytes/sent': m.publish.bytesSent,
  'bytes/received': m.bytes.received,
  'bytes/sent': m.bytes.sent,
  'heap/current': m.heap.current,
  'heap/maximum': m.heap.maximum,
  'subscriptions/count': m.subscriptions,
  'shared_subscriptions/count': m.sharedSubscriptions,
  'retained messages/count': m.retainedMessages,
  'load/messages/received/1min': m.load.one.messagesReceived,
  'load/messages/sent/5min': m.load.five.messagesSent,
  'load/publish/received/15min': m.load.fifteen.publishReceived,
  'load/publish/sent/1min': m.load.one.publishSent,
  'load/publish/dropped/1min': m.load.one.publishDropped,
  'load/bytes/received/5min': m.load.five.bytesReceived,
  'load/bytes/sent/15min': m.load.fifteen.bytesSent,
  'load/sockets/1min': m.load.one.sockets,
  'load/connections/1min': m.load.one.connections,
});

const asText = (topics: Record<string, number | string | null>, values: Record<string, string>) =>
  Object.fromEntries(
    Object.keys(topics).map((name) => {
      const text = values[`$SYS/broker/${name}`];
      const isNumber = text !== undefined && !['version', 'uptime'].includes(name);
      return [name, isNumber ? (Number.isSafeInteger(Math.trunc(Number(text))) ? Number(text) : null) : (text ?? null)];
    }),
  );

const BROKERS = {
  Mosquitto: async () => {
    const { url, client } = await startMosquitto();
    return { link: await connectedLink({ url }), client: await client(), publisher: await client() };
  },
  'the embedded broker': async () => {
    const { mqttPort } = await startTestBroker({ sysIntervalMs: 1_000 });
    const link = await connectedLink({ url: `mqtt://127.0.0.1:${mqttPort}`, ...ADMINISTRATOR });
    return { link, client: await connect(mqttPort), publisher: await connect(mqttPort) };
  },
};

describe.each(Object.entries(BROKERS))('with %s', (_name, start) => {
  test('the numbers equal those that a plain client reads, and the rates match the published messages', async () => {
    const { link, client, publisher } = await start();
    const momentOf = await readByClient(client);
    const { until } = follow(link);

    // First the values come filter by filter; from here on in the broker's order, the uptime before what belongs to it.
    await until(({ uptimeSeconds, retainedMessages }) => uptimeSeconds !== null && retainedMessages !== null);

    let compared = 0;
    const seen: BrokerMetrics[] = [];
    let loadedAt: number | null = null;
    await until((metrics) => {
      const before = seen.at(-1);
      seen.push(metrics);
      // A burst is complete when both have the next one: a busy broker publishes it in parts.
      const moment = before?.uptimeSeconds !== metrics.uptimeSeconds && before && momentOf(before.uptimeSeconds ?? -1);
      if (before && moment) {
        const topics = byTopic(before);
        expect(topics).toEqual(asText(topics, moment));
        compared += 1;
      }
      const received = metrics.publish.received ?? 0;
      if (loadedAt === null && metrics.rates.publishReceivedPerSecond !== null) {
        loadedAt = received;
        for (let n = 0; n < 1_000; n++) publisher.publish('load', Buffer.alloc(100));
      }
      const isOver = loadedAt !== null && received >= loadedAt + 1_000 && metrics.rates.publishReceivedPerSecond === 0;
      return compared >= 3 && isOver && seen.length >= 5;
    });

    // Late parts of a turn are counted over the whole of it, from its first.
    const turns: BrokerMetrics[] = [];
    for (const metrics of seen) {
      const turn = turns.at(-1);
      if (turn && metrics.asOf - turn.asOf < 500) turns.splice(-1, 1, { ...metrics, asOf: turn.asOf });
      else turns.push(metrics);
    }
    const counted = (rate: (metrics: BrokerMetrics) => number | null) =>
      turns.reduce((sum, now, index) => {
        const before = turns[index - 1];
        return before ? sum + ((rate(now) ?? 0) * (now.asOf - before.asOf)) / 1_000 : sum;
      }, 0);
    expect(Math.abs(counted(({ rates }) => rates.publishReceivedPerSecond) - 1_000)).toBeLessThan(50);
    expect(Math.abs(counted(({ rates }) => rates.publishBytesReceivedPerSecond) - 100_000)).toBeLessThan(5_000);
    // A turn takes one or two seconds, and the load may be in two of them.
    const fastest = Math.max(...turns.map(({ rates }) => rates.publishReceivedPerSecond ?? 0));
    expect(fastest).toBeGreaterThan(150);
    expect(fastest).toBeLessThan(2_000);
  });
});

test('a restarted broker is unreachable for a while, resets its counters, and has no negative rate', async () => {
  const broker = await startMosquitto();
  const { until } = follow(await connectedLink({ url: broker.url }));
  const before = await until(
    ({ uptimeSeconds, rates }) => (uptimeSeconds ?? 0) >= 3 && rates.bytesSentPerSecond !== null,
  );
  expect(before.isStale).toBe(false);
  await broker.stop();
  const last = await until((_metrics, isConnected) => !isConnected);
  // What is known stays, and says that it is old.
  expect(last).toMatchObject({ brokerVersion: `mosquitto version ${mosquittoVersion()}`, isStale: true });
  expect(last.messages.received).toBeGreaterThan(0);

  const restartedAt = Date.now();
  await broker.start();
  const rates: (number | null)[] = [];
  const uptimes: (number | null)[] = [];
  await until((metrics, isConnected) => {
    rates.push(...Object.values(metrics.rates));
    uptimes.push(metrics.uptimeSeconds);
    return isConnected && !metrics.isStale && (metrics.rates.messagesSentPerSecond ?? 0) > 0;
  });
  expect(uptimes[0]).toBeGreaterThanOrEqual(3);
  // That of the process before would be higher.
  expect(uptimes.at(-1)).toBeLessThanOrEqual((Date.now() - restartedAt) / 1_000 + 1);
  expect(rates.filter((rate) => rate !== null && !(rate >= 0 && Number.isFinite(rate)))).toEqual([]);
});

describe('a broker with arbitrary values', () => {
  const scripted = async (options: BrokerMetricsFeedOptions & SysTopicsOptions = {}) => {
    const broker = await startScriptedBroker(() => []);
    const relay = await startRelay(Number(new URL(broker.url).port));
    const link = await connectedLink({ url: relay.url });
    const followed = follow(link, { burstMs: 5, ...options });
    const tell = (name: string, value: string | Buffer) => broker.publish(`$SYS/broker/${name}`, value);
    // From here on the subscriptions are there.
    const told = followed.until(({ subscriptions }) => subscriptions === 1);
    while (followed.feed.state.metrics === null) {
      await tell('subscriptions/count', '1');
      await new Promise(setImmediate);
    }
    await told;
    return { ...followed, link, relay, tell };
  };

  test('invalid values are null, and do not end the feed', async () => {
    const { until, tell } = await scripted();
    const odd: Record<string, string | Buffer> = {
      'clients/connected': 'NaN',
      'clients/total': '-1',
      'clients/maximum': '1e999',
      'clients/expired': '18446744073708380104',
      'messages/received': 'many',
      'messages/sent': '9007199254740992',
      'store/messages/count': '1,000',
      'store/messages/bytes': '0x10',
      'publish/messages/received': ' 1',
      'publish/messages/sent': '١٢',
      'bytes/received': Buffer.from([0xff, 0x00, 0xfe]),
      'bytes/sent': '9007199254740991',
      'heap/current': 'Infinity',
      'heap/maximum': '18446744073708380104',
      'load/messages/received/1min': '-nan',
      'load/messages/sent/1min': `${'9'.repeat(400)}.5`,
      'load/sockets/1min': '3.25',
      uptime: '12 days',
      version: 'x'.repeat(1_024),
    };
    for (const [name, value] of Object.entries(odd)) await tell(name, value);
    for (let n = 0; n < 2_000; n++) await tell(`metrics/${n}`, 'NaN');
    await tell('subscriptions/count', '2');
    const metrics = await until(({ subscriptions }) => subscriptions === 2);
    const { clients, messages, publish, bytes, heap, load, uptimeSeconds, brokerVersion } = metrics;
    for (const group of [clients, messages, publish, heap]) {
      expect(Object.values(group).filter((value) => value !== null)).toEqual([]);
    }
    expect(bytes).toEqual({ received: null, sent: Number.MAX_SAFE_INTEGER });
    expect(load.one).toMatchObject({ messagesReceived: null, messagesSent: null, sockets: 3.25 });
    expect(uptimeSeconds).toBeNull();
    expect(brokerVersion).toHaveLength(1_024);
    JSON.stringify(metrics);
  });

  test('rates need two bursts of one connection, and are null if a counter decreased', async () => {
    const { feed, until, tell, relay, link } = await scripted();
    const turn = async (uptime: number, received: number, sent: number) => {
      await tell('messages/received', String(received));
      await tell('messages/sent', String(sent));
      await tell('uptime', `${uptime} seconds`);
      return until(({ uptimeSeconds, messages }) => uptimeSeconds === uptime && messages.sent === sent);
    };
    /** Bursts that follow each other closer than this are one that came late. */
    const later = (before: BrokerMetrics) => expect.poll(() => Date.now() - before.asOf).toBeGreaterThan(600);
    await later(feed.state.metrics as BrokerMetrics);
    const first = await turn(10, 100, 100);
    await later(first);
    const second = await turn(11, 160, 100);
    const seconds = (second.asOf - first.asOf) / 1_000;
    const about = (perSecond: number) => (rate: number | null) => Math.abs((rate ?? 0) - perSecond) < perSecond / 10;
    expect(second.rates.messagesReceivedPerSecond).toSatisfy(about(60 / seconds));
    expect(second.rates.messagesSentPerSecond).toBe(0);
    expect(second.rates.bytesSentPerSecond).toBeNull();
    // Late parts of a turn are counted over the whole of it.
    const late = await turn(11, 160, 130);
    expect(late.rates.messagesSentPerSecond).toSatisfy(about(30 / seconds));
    await later(second);
    const fell = await turn(12, 5, 140);
    expect(fell.rates).toMatchObject({ messagesReceivedPerSecond: null });
    expect(fell.rates.messagesSentPerSecond).toBeGreaterThan(0);
    await later(fell);
    const restarted = await turn(1, 500, 500);
    expect(Object.values(restarted.rates).filter((rate) => rate !== null)).toEqual([]);
    await later(restarted);
    relay.cut();
    await until((_metrics, isConnected) => !isConnected);
    await reached(link, 'CONNECTED');
    const again = await resumed(tell, until);
    expect(Object.values(again.rates).filter((rate) => rate !== null)).toEqual([]);
  });

  test('rates and samples continue when the clock is set back', async () => {
    const sampled: number[] = [];
    const onSample: BrokerMetricsFeedOptions['onSample'] = ({ numbers }) =>
      void sampled.push(numbers.messages.received ?? 0);
    const { until, tell } = await scripted({ onSample, sampleMs: 5_000 });
    const start = Date.now() + 3_600_000;
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const turn = async (at: number, received: number) => {
      vi.setSystemTime(at);
      await tell('messages/received', String(received));
      const { rates } = await until(({ messages }) => messages.received === received);
      return rates.messagesReceivedPerSecond;
    };
    await turn(start, 100);
    expect(await turn(start + 10_000, 700)).toBe(60);
    expect(await turn(start - 7_200_000, 760)).toBeNull();
    expect(await turn(start - 7_190_000, 1_360)).toBe(60);
    expect(sampled.slice(-4)).toEqual([100, 700, 760, 1_360]);
  });

  test('a silent broker is stale until it publishes again', async () => {
    const { until, tell, feed } = await scripted({ silenceMs: 300 });
    const silent = await until(({ isStale }) => isStale);
    expect(silent.subscriptions).toBe(1);
    expect(feed.state.isConnected).toBe(true);
    const [one, other] = [await feed.watch().next(), await feed.watch().next()];
    expect(one.value).toBe(other.value);
    await tell('subscriptions/count', '3');
    expect((await until(({ subscriptions }) => subscriptions === 3)).isStale).toBe(false);
  });
});

/** Publishes until the subscriptions are renewed after a lost connection. */
async function resumed(tell: (name: string, value: string) => Promise<void>, until: Followed['until']) {
  let heard = false;
  const answer = until(({ subscriptions }) => subscriptions === 9).then((metrics) => {
    heard = true;
    return metrics;
  });
  while (!heard) {
    await tell('subscriptions/count', '9');
    await new Promise(setImmediate);
  }
  return answer;
}
