import { expect, onTestFinished } from 'vitest';
import { DEFAULT_TOPIC_SETTINGS } from '../../../src/data-plane/topic-tree/model/topic-settings.ts';
import { startMosquitto } from '../../support/mosquitto.ts';
import { MqttWire } from '../../support/mqtt-wire.ts';
import { recorderOf, statusOf, until } from './recorder/remote-recorder.ts';

interface TooManyPlan {
  readonly topics: number;
  readonly limit: number;
  /** Resident memory that this process may grow by (MB) while topics are left out. */
  readonly maxGrowthMb: number;
}

interface TooManyFigures {
  readonly bytesPerTopic: number;
  readonly grownMb: number;
}

const PUBLISHERS = 4;
/** Messages on their way: a broker drops those of QoS 0 for who reads slowly, and every one is counted here. */
const WINDOW = 5_000;

const topicOf = (number: number) => `plant/line-${number % 1_000}/device-${number}/temperature`;

/**
 * Publishes each topic once through a Mosquitto. Topics beyond the limit are only counted, and use no further memory.
 * After the listed topics have expired, new topics are listed.
 */
export async function checkTooManyTopics({ topics, limit, maxGrowthMb }: TooManyPlan): Promise<TooManyFigures> {
  const broker = await startMosquitto({ lines: ['max_queued_messages 0'] });
  const settings = { ttlSeconds: 3_600, publishLimit: limit, payloadLimit: 0 };
  const recorder = await recorderOf({ url: broker.url, settings, maxBytes: 2 ** 29 });
  await statusOf(recorder);
  const publishers = await Promise.all(
    Array.from({ length: PUBLISHERS }, (_, index) => MqttWire.open(broker.port, `many-${index}`)),
  );
  onTestFinished(async () => {
    for (const publisher of publishers) await publisher.close();
  });
  const publish = async (from: number, to: number) => {
    for (let sent = from; sent < to; ) {
      const start = sent;
      sent = Math.min(to, start + WINDOW);
      for (const [index, publisher] of publishers.entries()) {
        publisher.together(() => {
          for (let number = start + index; number < sent; number += PUBLISHERS) {
            const topic = topicOf(number);
            publisher.send({ cmd: 'publish', topic, payload: '21.5', qos: 0, dup: false, retain: false });
          }
        });
      }
      const came = sent;
      await until(
        () => statusOf(recorder),
        ({ messages, published }) => messages + published.leftOut >= came,
      );
    }
  };

  await publish(0, limit);
  const full = await statusOf(recorder);
  expect(full.published).toEqual({ count: limit, leftOut: 0, isTruncated: false });
  const before = process.memoryUsage.rss();
  let most = 0;
  const part = Math.ceil((topics - limit) / 20);
  for (let from = limit; from < topics; from += part) {
    await publish(from, Math.min(topics, from + part));
    const status = await statusOf(recorder);
    expect(status.memoryBytes).toBe(full.memoryBytes);
    most = Math.max(most, process.memoryUsage.rss());
  }
  const grownMb = (most - before) / 2 ** 20;
  expect(grownMb).toBeLessThan(maxGrowthMb);
  const left = await statusOf(recorder);
  expect(left.published).toEqual({ count: limit, leftOut: topics - limit, isTruncated: true });
  expect(left.messages).toBe(limit);
  expect(await listed(0)).toBe(1);
  expect(await listed(topics - 1)).toBe(0);

  // In use again, a listed topic is known; one that is not is left out once more.
  publishers[0]?.send({ cmd: 'publish', topic: topicOf(topics - 1), payload: '', qos: 0, dup: false, retain: false });
  publishers[0]?.send({ cmd: 'publish', topic: topicOf(0), payload: '', qos: 0, dup: false, retain: false });
  await until(
    () => listed(0),
    (messages) => messages === 2,
  );
  expect((await statusOf(recorder)).published).toMatchObject({ count: limit, leftOut: topics - limit + 1 });

  await recorder.apply({ ...DEFAULT_TOPIC_SETTINGS, ...settings, ttlSeconds: 1 });
  const empty = await until(
    () => statusOf(recorder),
    ({ published }) => published.count === 0 && !published.isTruncated,
  );
  expect(empty.published.leftOut).toBe(topics - limit + 1);
  expect(empty.memoryBytes).toBeLessThan(full.memoryBytes);
  publishers[0]?.send({ cmd: 'publish', topic: topicOf(topics - 1), payload: '', qos: 0, dup: false, retain: false });
  await until(
    () => listed(topics - 1),
    (messages) => messages === 1,
  );
  return { bytesPerTopic: full.memoryBytes / limit, grownMb };

  /** Messages of the topic of a number; 0: it is not listed. */
  async function listed(number: number): Promise<number> {
    return (await recorder.query('topic', { kind: 'PUBLISHED', topic: topicOf(number) }))?.messages ?? 0;
  }
}
