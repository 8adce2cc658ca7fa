import type { ISubackPacket } from 'mqtt-packet';
import { expect, test } from 'vitest';
import { startBrokerHere } from './embedded.ts';
import { rawClient } from './raw-client.ts';

/** Number `n` of many filters with 90 levels, of which each weighs 1,575: 63 of them are the bound of a client. */
const deep = (n: number): string =>
  Array.from({ length: 90 }, (_, level) => ((n >> (level % 12)) & 1 ? 'a' : String(level % 10))).join('/');
const FITTING = 63;
/** Number `n` of many filters with 15 wildcards, of which each weighs 62. */
const wild = (n: number): string => [1_000 + n, ...Array(15).fill('+')].join('/');

async function open(port: number, clientId: string, clean = true, filter = deep) {
  const client = await rawClient(port, { protocolVersion: 4, clientId, clean });
  let packetId = 0;
  /** Numbers of the filters that are granted. */
  const subscribe = async (from: number, count: number): Promise<number[]> => {
    packetId += 1;
    const topics = Array.from({ length: count }, (_, i) => filter(from + i));
    client.send({ cmd: 'subscribe', messageId: packetId, subscriptions: topics.map((topic) => ({ topic, qos: 1 })) });
    await client.until('suback', packetId);
    const { granted } = client.packets.findLast(({ cmd }) => cmd === 'suback') as ISubackPacket;
    return granted.flatMap((code, i) => (code === 1 ? [from + i] : []));
  };
  const unsubscribe = async (n: number) => {
    client.send({ cmd: 'unsubscribe', messageId: 60_000 + n, unsubscriptions: [filter(n)] });
    await client.until('unsuback', client.count('unsuback') + 1);
  };
  return { ...client, subscribe, unsubscribe };
}

const numbers = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i);

test('a client may have deep filters up to their weight, and has room again when it unsubscribes one', async () => {
  const { mqttPort } = await startBrokerHere();
  const client = await open(mqttPort, 'deep');
  expect(await client.subscribe(0, 200)).toEqual(numbers(0, FITTING));
  expect(await client.subscribe(0, 2)).toEqual([0, 1]);
  await client.unsubscribe(5);
  expect(await client.subscribe(300, 2)).toEqual([300]);
});

test('each + counts as four levels', async () => {
  const { mqttPort } = await startBrokerHere();
  const client = await open(mqttPort, 'wild', true, wild);
  const granted = [...(await client.subscribe(0, 1_000)), ...(await client.subscribe(1_000, 1_000))];
  expect(granted).toEqual(numbers(0, 1_612));
});

test('the filters of all clients and sessions have a common limit, beyond which each client may still have a few', async () => {
  const { mqttPort } = await startBrokerHere();
  // Half of them have sessions, whose filters count while they are away, too.
  const clients = [];
  for (const n of numbers(0, 10)) {
    const client = await open(mqttPort, `client-${n}`, n % 2 === 0);
    expect(await client.subscribe(n * FITTING, FITTING)).toHaveLength(FITTING);
    if (n % 2 === 1) await client.leave();
    clients.push(client);
  }
  const late = await open(mqttPort, 'late');
  const [first = 0] = await late.subscribe(3_000, 10);
  expect(first).toBe(3_000);
  expect(await late.subscribe(3_100, 1)).toEqual([]);
  // A session that returns keeps what it has.
  const back = await open(mqttPort, 'client-1', false);
  expect(await back.subscribe(FITTING, FITTING)).toHaveLength(FITTING);
  // One that ends makes room.
  await clients[0]?.leave();
  await expect.poll(async () => (await late.subscribe(3_200, 20)).length).toBe(20);
});
