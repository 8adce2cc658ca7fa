import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';
import { onTestFinished } from 'vitest';
import { ADMINISTRATOR } from '../embedded.ts';
import type { TestNode } from './nodes.ts';

/**
 * A client that goes on at another node whenever its connection ends, with what it has under way: its library keeps that, as a device
 * does. It does not give up.
 */
export function roam(nodes: readonly TestNode[], options: IClientOptions): MqttClient {
  // The library takes them in turn.
  const first = randomInt(nodes.length);
  const inTurn = [...nodes.slice(first), ...nodes.slice(0, first)];
  const client = mqtt.connect({
    ...ADMINISTRATOR,
    protocolVersion: 4,
    clean: false,
    reconnectPeriod: 50,
    connectTimeout: 5_000,
    resubscribe: false,
    servers: inTurn.map(({ mqttPort: port }) => ({ host: '127.0.0.1', port, protocol: 'mqtt' as const })),
    ...options,
  });
  client.on('error', () => {});
  onTestFinished(() => client.endAsync(true).then(() => {}));
  return client;
}

/** As a network that breaks. */
export const cut = (client: MqttClient) => client.stream?.destroy();

/** Numbered messages, a few under way at a time; `stop` resolves when all that were sent are acknowledged. `pauseMs`: between those of a worker. */
export function publishNumbers(client: MqttClient, topic: string, qos: 1 | 2, pauseMs = 0) {
  let isRunning = true;
  const acknowledged: number[] = [];
  let next = 0;
  const worker = async () => {
    while (isRunning) {
      const number = next;
      next += 1;
      // While it is looking at what it has under way the library takes nothing, and says so.
      const isTaken = await client.publishAsync(topic, String(number), { qos }).then(
        () => true,
        () => false,
      );
      if (isTaken) acknowledged.push(number);
      else await delay(10);
      if (pauseMs > 0) await delay(pauseMs);
    }
  };
  const all = Promise.all([worker(), worker(), worker()]);
  const stop = async () => {
    isRunning = false;
    await all;
    return acknowledged;
  };
  return { acknowledged, stop };
}

/** Counts by topic and number what arrives. */
export function countNumbers(client: MqttClient) {
  const seen = new Map<string, Map<number, number>>();
  let check = () => {};
  client.on('message', (topic, payload) => {
    const counts = seen.get(topic) ?? new Map<number, number>();
    seen.set(topic, counts);
    const number = Number(payload.toString());
    counts.set(number, (counts.get(number) ?? 0) + 1);
    check();
  });
  const has = (topic: string, numbers: readonly number[]) => {
    const counts = seen.get(topic);
    return numbers.every((number) => counts?.has(number));
  };
  /** Resolves when all have come. */
  const until = (topic: string, numbers: readonly number[]) =>
    new Promise<void>((resolve) => {
      const before = check;
      check = () => {
        before();
        if (has(topic, numbers)) resolve();
      };
      check();
    });
  const more = (topic: string) =>
    [...(seen.get(topic) ?? [])].filter(([, count]) => count > 1).map(([number]) => number);
  const missing = (topic: string, numbers: readonly number[]) => numbers.filter((one) => !seen.get(topic)?.has(one));
  return { seen, until, more, missing };
}
