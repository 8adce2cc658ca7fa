import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import { isLong, runs } from '../../support/suite.ts';
import { ADMINISTRATOR, useTestBroker } from './embedded.ts';

/** Messages of QoS 1 and 2 between clients whose connections are cut again and again. */

const broker = useTestBroker();

const PAIRS = 20;
const MESSAGES = runs(isLong ? 1_000 : 250);
/** Messages of one pair between two cuts. */
const CUT_AFTER = 25;
const WINDOW = 8;

const session: IClientOptions = {
  ...ADMINISTRATOR,
  protocolVersion: 5,
  clean: false,
  properties: { sessionExpiryInterval: 3_600 },
  reconnectPeriod: 10,
};

async function open(clientId: string): Promise<MqttClient> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker().mqttPort}`, { ...session, clientId });
  onTestFinished(() => client.endAsync(true).then(() => {}));
  // The errors of cut connections.
  client.on('error', () => {});
  return client;
}

/** MQTT 5, 3.7.2.1: PUBCOMP 0x92 is no error after a reconnect, but mqtt.js reports it as one. */
function alreadyComplete(error: { readonly code?: number }): void {
  if (error.code !== 0x92) throw error;
}

/** Publishes numbers with a few of them in flight, and cuts the connections of both clients. */
async function exchange(pair: number) {
  const qos = pair % 2 === 0 ? 1 : 2;
  const topic = `pair/${pair}`;
  const subscriber = await open(`subscriber-${pair}`);
  const received: number[] = [];
  let check = () => {};
  subscriber.on('message', (_topic, payload) => {
    received.push(Number(payload));
    check();
  });
  await subscriber.subscribeAsync(topic, { qos });
  const publisher = await open(`publisher-${pair}`);
  let cuts = 0;
  const inFlight = new Set<Promise<unknown>>();
  for (let number = 0; number < MESSAGES; number += 1) {
    const sent = publisher.publishAsync(topic, String(number), { qos }).catch(alreadyComplete);
    inFlight.add(sent);
    void sent.finally(() => inFlight.delete(sent));
    if (inFlight.size >= WINDOW) await Promise.race(inFlight);
    if (number % CUT_AFTER !== pair) continue;
    const client = number % 2 === 0 ? publisher : subscriber;
    client.stream.destroy();
    cuts += 1;
  }
  await Promise.all(inFlight);
  // The last number is acknowledged to the publisher, so the subscriber gets it after all others.
  await new Promise<void>((resolve) => {
    check = () => {
      if (received.includes(MESSAGES - 1)) resolve();
    };
    check();
  });
  return { qos, received, cuts };
}

test('none is lost or comes out of order, and QoS 2 does not come twice', async () => {
  const all = await Promise.all(Array.from({ length: PAIRS }, (_, pair) => exchange(pair)));
  const numbers = Array.from({ length: MESSAGES }, (_, number) => number);
  for (const { qos, received, cuts } of all) {
    expect(cuts).toBeGreaterThanOrEqual(MESSAGES / CUT_AFTER);
    // Sets keep the order in which their values were added first.
    expect([...new Set(received)]).toEqual(numbers);
    if (qos === 2) expect(received).toEqual(numbers);
  }
});
