import { randomBytes, randomInt } from 'node:crypto';
import { expect, test } from 'vitest';
import { startScriptedBroker } from '../../support/aedes-broker.ts';
import { startTestService } from '../../support/service.ts';
import { addBroker, beganTail } from './message-world.ts';

const ODD = [
  '__proto__',
  'constructor',
  '"',
  '\\',
  '\u2028',
  '\u0007',
  '\ud800',
  '💡',
  '',
  ' ',
  '{}',
  '</script>',
  '\x7f',
];

const oddTopic = () =>
  Array.from({ length: randomInt(1, 30) }, () => ODD[randomInt(ODD.length)]).join(randomInt(2) === 0 ? '/' : '');

test('any message of a broker is sent unchanged, and does no harm', async () => {
  const broker = await startScriptedBroker(() => []);
  const service = await startTestService();
  const world = { service, brokerId: await addBroker(service, broker.url) };
  const told = await beganTail(world, '#', { rate: 1_000, bytes: 65_536 });
  const sent: { topic: string; payload: Buffer }[] = [];
  for (let number = 0; number < 400; number += 1) {
    const topic = number % 100 === 0 ? String(number).padEnd(65_000, 'x') : oddTopic();
    const payload = randomBytes(randomInt(4) === 0 ? randomInt(5_000) : randomInt(5));
    // Not what the filter is for.
    if (topic.startsWith('$') || topic === '') continue;
    sent.push({ topic, payload });
    await broker.publish(topic, payload);
  }
  await told.until(() => told.messages().length + told.leftOut() >= sent.length);
  expect(told.leftOut()).toBe(0);
  // Invalid UTF-8 in a topic becomes U+FFFD.
  const texts = sent.map(({ topic, payload }) => [Buffer.from(topic).toString(), payload.toString('base64')]);
  expect(told.messages().map(({ topic, payloadBase64 }) => [topic, payloadBase64])).toEqual(texts);
  expect((await service.graphql('{ viewer { name } }')).errors).toBeUndefined();
});
