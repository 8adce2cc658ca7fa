import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startMosquitto } from '../../../support/mosquitto.ts';
import { MqttWire } from '../../../support/mqtt-wire.ts';
import { startServiceProcess } from '../../../support/service-process.ts';
import { startStreamOfNumbers } from './stream-of-numbers.ts';

const TTL = 2;
const TTL_MS = TTL * 1_000;
const EVERY_MS = 5;
const LOOKS = 12;
const LONGEST_PAUSE_MS = 1_000;

interface Sent {
  readonly at: number;
  /** When its result left the stream: it was stored between `at` and this time. */
  outAt: number;
}

test('with a ttl of 2 s a replay at any moment has all that is younger, and nothing that is twice as old', async () => {
  const broker = await startMosquitto();
  const { read, replay } = await startStreamOfNumbers(startServiceProcess, broker.url, { persist: true, ttl: TTL });
  const sent: Sent[] = [];
  const receiver = await MqttWire.open(broker.port, 'receiver');
  await receiver.subscribe('out', 0);
  await receiver.subscribe('again/+', 0);
  let replayedNow: { readonly topic: string; readonly numbers: number[] } = { topic: '', numbers: [] };
  receiver.hear((packet) => {
    if (packet.cmd !== 'publish') return;
    const { n } = JSON.parse(packet.payload.toString());
    const message = sent[n];
    if (packet.topic === replayedNow.topic) replayedNow.numbers.push(n);
    else if (packet.topic === 'out' && message) message.outAt = Date.now();
  });
  const sender = await MqttWire.open(broker.port, 'sender');
  const sending = setInterval(() => {
    const payload = `{"n":${sent.length},"value":1}`;
    sent.push({ at: Date.now(), outAt: Number.POSITIVE_INFINITY });
    const messageId = 1 + (sent.length % 65_535);
    sender.send({ cmd: 'publish', topic: 'in', payload, qos: 1, messageId, dup: false, retain: false });
  }, EVERY_MS);
  onTestFinished(async () => {
    clearInterval(sending);
    await receiver.close();
    await sender.close();
  });

  let expired = 0;
  const begun = Date.now();
  // So long at least that the first ones have expired.
  for (let look = 0; look < LOOKS || Date.now() - begun < 3 * TTL_MS; look += 1) {
    // The moments are the subject.
    await delay(Math.random() * LONGEST_PAUSE_MS);
    const { counters } = await read('counters { stored }');
    replayedNow = { topic: `again/${look}`, numbers: [] };
    const from = Date.now();
    await replay({ topic: replayedNow.topic, fastest: true });
    let published = Number.POSITIVE_INFINITY;
    await expect
      .poll(async () => {
        const { replay } = await read('replay { state topic published }');
        if (replay.topic !== `again/${look}` || replay.state !== 'DONE') return replay.state;
        published = replay.published;
        return replayedNow.numbers.length === published;
      })
      .toBe(true);
    const to = Date.now();
    const { numbers } = replayedNow;
    const there = new Set(numbers);
    expect(numbers).toEqual([...there].sort((a, b) => a - b));
    const missing = sent.flatMap(({ at }, n) => (n < counters.stored && at > to - TTL_MS && !there.has(n) ? [n] : []));
    const tooOld = numbers.filter((n) => (sent[n]?.outAt ?? 0) < from - 2 * TTL_MS);
    expect([look, missing, tooOld]).toEqual([look, [], []]);
    expired = numbers[0] ?? 0;
  }
  // Something did expire, and is not only left out.
  expect(expired).toBeGreaterThan(0);
  await expect
    .poll(async () => Date.now() - Date.parse((await read('storage { oldest }')).storage.oldest))
    .toBeLessThan(3 * TTL_MS);
});
