import fc from 'fast-check';
import { generate } from 'mqtt-packet';
import { expect, test } from 'vitest';
import { topicFilterProblem } from '../../../../src/data-plane/broker/connecting/topic-rules.ts';
import { EMBEDDED_DIALECT } from '../../../../src/data-plane/broker/dynamic-security/dynamic-security-access.ts';
import { dialectOf } from '../../../../src/protocol/apis/access-control/dynsec-control.ts';
import { sharedFilterProblem } from '../../../../src/protocol/apis/access-control/shared-filters.ts';
import { filterProblem } from '../../../../src/protocol/mqtt/topics.ts';
import { mosquittoVersion, sinceVersion, startClient, startMosquitto } from '../../../support/mosquitto.ts';
import { isLong, suite } from '../../../support/suite.ts';
import { runDifferential } from './differential.ts';
import { embeddedTarget } from './differential-embedded.ts';
import { mosquittoTarget } from './differential-mosquitto.ts';

const POLICIES = isLong ? 25 : 8;

test('what is explained is what brokers do: 300 random questions to each, or 1,800 if a Mosquitto is tested', async () => {
  const seed = Number(process.env.SEED ?? 20_260);
  const isOfMosquitto = suite === 'brokers';
  const targets = [await mosquittoTarget(), ...(isOfMosquitto ? [] : [await embeddedTarget()])];
  const result = await runDifferential(targets, { seed, policies: isOfMosquitto ? 36 : 6, checksPerPolicy: 50 });
  expect(result.disagreements, `SEED=${seed} shows these again`).toEqual([]);
  // Newer versions check the subscriptions of a session when it returns, so that less can be compared.
  const compared = isOfMosquitto ? 1_000 : sinceVersion({ '2.0.0': 480, '2.0.12': 350 });
  expect(result.compared).toBeGreaterThanOrEqual(compared);
  expect(result.allowed / result.compared).toBeGreaterThan(0.2);
});

test('Mosquitto closes the connection for the shared subscriptions that are explained so', async () => {
  const { port } = await startMosquitto();
  const dialect = dialectOf(null, `mosquitto version ${mosquittoVersion()}`);
  for (const filter of ['$share', '$share/', '$share/g', '$share/g/', '$share//a', '$share/+/a', '$share/#']) {
    const client = await startClient(`mqtt://127.0.0.1:${port}`, {
      reconnectPeriod: 0,
      clientId: 'shared',
      protocolVersion: 5,
    });
    const closed = new Promise((resolve) => client.once('close', () => resolve('CLOSED')));
    // mqtt.js refuses some of these filters itself.
    client.stream.write(
      generate({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: filter, qos: 0 }] }, { protocolVersion: 5 }),
    );
    const granted = new Promise((resolve) =>
      client.on('packetreceive', ({ cmd }) => cmd === 'suback' && resolve('GRANTED')),
    );
    const expected = sharedFilterProblem(filter, dialect.sharedFilters) === null ? 'GRANTED' : 'CLOSED';
    expect([filter, await Promise.race([closed, granted])]).toEqual([filter, expected]);
    await client.endAsync(true);
  }
});

test('the embedded broker closes the connection for the shared subscriptions that are explained so', () => {
  const level = fc.constantFrom('', 'g', '+', '#', 'a b');
  const filters = fc.array(level, { maxLength: 3 }).map((levels) => ['$share', ...levels].join('/'));
  fc.assert(
    fc.property(filters, (filter) => {
      fc.pre(filterProblem(filter) === null);
      expect(sharedFilterProblem(filter, EMBEDDED_DIALECT.sharedFilters) === null).toBe(
        topicFilterProblem(filter) === null,
      );
    }),
  );
});

test('the rule that the embedded broker reports of a refusal is the one that decided: 1,000 random questions', async () => {
  const seed = Number(process.env.SEED ?? 40_520);
  const result = await runDifferential([await embeddedTarget()], { seed, policies: POLICIES, checksPerPolicy: 60 });
  expect(result.disagreements, `SEED=${seed} shows these again`).toEqual([]);
  expect(result.compared).toBeGreaterThanOrEqual(40 * POLICIES);
  expect(result.reported).toBeGreaterThanOrEqual(8 * POLICIES);
});
