import { expect, onTestFinished } from 'vitest';
import { startMosquitto } from '../../../support/mosquitto.ts';
import { MqttWire } from '../../../support/mqtt-wire.ts';
import { startServiceProcess } from '../../../support/service-process.ts';
import { NumberedTraffic, WINDOW } from './numbered-traffic.ts';
import { startStreamOfNumbers } from './stream-of-numbers.ts';

const BETWEEN_KILLS = 2_000;

/**
 * Repeated `kill -9` while a stream stores messages of QoS 1: each one that was acknowledged to its publisher
 * is stored, in the order of publishing; only messages in flight at a kill are stored twice.
 */
export async function checkKilledService(kills: number): Promise<void> {
  const broker = await startMosquitto({ lines: ['max_queued_messages 0'] });
  const { service, read, replay } = await startStreamOfNumbers(startServiceProcess, broker.url, { persist: true });
  const traffic = await NumberedTraffic.start(broker.port, 'in', 'out');
  // More than can come about: the publisher never pauses.
  traffic.publishUpTo(Number.MAX_SAFE_INTEGER);
  const killedAt: number[] = [];
  for (let kill = 0; kill < kills; kill += 1) {
    await traffic.until(traffic.seen + BETWEEN_KILLS / 2 + Math.floor(Math.random() * BETWEEN_KILLS));
    await service.kill();
    killedAt.push(traffic.seen);
    await service.start();
  }
  const count = traffic.stop();
  await traffic.until(count);
  // All have left; what is still to be written was taken after the last start.
  await expect
    .poll(async () => {
      const { counters } = await read('counters { received stored }');
      return counters.received - counters.stored;
    })
    .toBe(0);

  const { messageCount } = await read('messageCount');
  const stored = await replayed(broker.port, messageCount, () => replay({ topic: 'again', fastest: true }));
  const seen = new Set<number>();
  const repeats: number[] = [];
  for (const n of stored) {
    if (seen.has(n)) repeats.push(n);
    else {
      // In order, and none is missing.
      expect(n).toBe(seen.size);
      seen.add(n);
    }
  }
  expect(seen.size).toBe(count);
  const isUnderWay = (n: number) => killedAt.some((at) => Math.abs(n - at) <= WINDOW);
  expect(repeats.filter((n) => !isUnderWay(n))).toEqual([]);
  expect(traffic.gap).toBeNull();
  await expect
    .poll(async () => (await read('replay { state published }')).replay)
    .toEqual({ state: 'DONE', published: messageCount });
  console.log(`${kills} kills, ${count} messages, ${repeats.length} stored twice`);
}

async function replayed(port: number, count: number, start: () => Promise<void>): Promise<number[]> {
  const wire = await MqttWire.open(port, 'replay-receiver');
  onTestFinished(() => wire.close());
  await wire.subscribe('again', 0);
  const numbers: number[] = [];
  const all = new Promise<void>((resolve) =>
    wire.hear((packet) => {
      if (packet.cmd !== 'publish') return;
      numbers.push(JSON.parse(packet.payload.toString()).n);
      if (numbers.length === count) resolve();
    }),
  );
  await start();
  await all;
  return numbers;
}
