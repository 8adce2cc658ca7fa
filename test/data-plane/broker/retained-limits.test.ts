import { expect, test } from 'vitest';
import { rawClient } from './raw-client.ts';
import { fill, memory } from './retained.ts';
import { acknowledgeAll, type Raw, reasonOf } from './shared.ts';
import { startTappedCore } from './tapped-core.ts';

const MIB = 1_048_576;
const LARGE = Buffer.alloc(8 * MIB, 'x');

type Core = Awaited<ReturnType<typeof startTappedCore>>;

const subscribe = (messageId: number, qos: 0 | 1, topics: readonly string[]) =>
  ({ cmd: 'subscribe', messageId, subscriptions: topics.map((topic) => ({ topic, qos })) }) as const;

const numbered = (count: number, folder: string): string[] => Array.from({ length: count }, (_, n) => `${folder}/${n}`);

/** Clients that do not read what they subscribe to. */
async function slowClients({ port, registry }: Core, filters: readonly string[]) {
  for (const [index, filter] of filters.entries()) {
    const client = await rawClient(port, { clientId: `slow-${index}`, protocolVersion: 4 });
    client.pause();
    client.send(subscribe(1, 0, [filter]));
  }
  /** Number of them that were sent a message. */
  return () => filters.filter((_, index) => (registry.connection(`slow-${index}`)?.counters.delivered ?? 0) > 0).length;
}

test('a large retained message is in memory once, however many clients do not read it', async () => {
  const core = await startTappedCore();
  fill(core.store, ['large'], LARGE);
  const before = await memory();
  const served = await slowClients(core, Array<string>(8).fill('large'));
  await expect.poll(served).toBe(8);
  expect(await memory(before + 24 * MIB)).toBeLessThan(before + 24 * MIB);
});

test('large retained messages wait for room, small ones do not, and slow clients make room at last', async () => {
  const core = await startTappedCore(undefined, { unsentRetainedBytes: 16 * MIB, drainTimeoutMs: 1_500 });
  fill(core.store, numbered(6, 'large'), LARGE);
  fill(core.store, ['small']);
  const before = await memory();
  const served = await slowClients(core, numbered(5, 'large'));
  const client = await rawClient(core.port, { protocolVersion: 4 }, 'small');
  await client.until('publish', 1);
  expect(served()).toBe(2);
  expect(await memory(before + 24 * MIB)).toBeLessThan(before + 24 * MIB);
  client.send(subscribe(2, 0, ['large/5']));
  await client.until('publish', 2);
});

test('a client that reads gets large retained messages of more than the limit', async () => {
  const core = await startTappedCore(undefined, { unsentRetainedBytes: MIB / 4 });
  const payload = LARGE.subarray(0, MIB / 4);
  fill(core.store, numbered(8, 'large'), payload);
  const clients = await Promise.all([0, 1, 2].map((n) => rawClient(core.port, { clientId: `reads-${n}` }, '#')));
  for (const client of clients) await client.until('publish', 8);
});

test('waiting SUBSCRIBEs take little memory, and their client is not read meanwhile', async () => {
  const core = await startTappedCore();
  fill(core.store, numbered(2_500, 'many'), LARGE.subarray(0, 4_000));
  const filters = numbered(10_000, 'waits');
  const parts = Array.from({ length: 10 }, (_, part) => filters.slice(part * 1_000, (part + 1) * 1_000 - 1));
  const clients: Raw[] = [];
  for (let n = 0; n < 2; n += 1) {
    const client = await rawClient(core.port, { clientId: `waits-${n}`, protocolVersion: 4 });
    for (const part of parts) client.send(subscribe(1, 0, part));
    await client.until('suback', parts.length);
    clients.push(client);
  }
  const other = await rawClient(core.port, { clientId: 'other' });
  await other.settle();
  const before = await memory();
  const many = clients.map((client) => Buffer.concat(parts.map((part) => client.packet(subscribe(2, 0, part)))));
  for (const [n, client] of clients.entries()) {
    client.pause();
    client.send(subscribe(2, 0, ['many/#']));
    await expect.poll(() => core.registry.connection(`waits-${n}`)?.counters.delivered).toBeGreaterThan(0);
  }
  for (let times = 0; times < 14; times += 1)
    for (const [n, client] of clients.entries()) client.write(many[n] as Buffer);
  const bytesRead = () =>
    clients.reduce((sum, _, n) => sum + (core.registry.connection(`waits-${n}`)?.bytesRead ?? 0), 0);
  for (let last = -1; last !== bytesRead(); ) {
    last = bytesRead();
    for (let times = 0; times < 50; times += 1) await other.settle();
  }
  expect(await memory(before + 24 * MIB)).toBeLessThan(before + 24 * MIB);
});

test('many SUBSCRIBEs of a session complete although its acknowledgements come behind them', async () => {
  const core = await startTappedCore();
  fill(core.store, numbered(100, 'session'));
  const client = await rawClient(core.port, { clean: false, clientId: 'session', protocolVersion: 4 });
  acknowledgeAll(client);
  const packets = Array.from({ length: 40 }, (_, n) => client.packet(subscribe(n + 1, 1, ['session/#'])));
  client.write(Buffer.concat(packets));
  await client.until('publish', 4_000);
});

test('a client that acknowledges nothing may not let more than 20,000 filters wait', async () => {
  const core = await startTappedCore();
  fill(core.store, numbered(2_000, 'session'));
  const client = await rawClient(core.port, {
    clean: false,
    clientId: 'session',
    properties: { sessionExpiryInterval: 100 },
  });
  const filters = numbered(1_000, 'waits');
  client.send(subscribe(1, 1, ['session/#']));
  await client.until('publish', 1_000);
  for (let n = 2; n < 22; n += 1) client.send(subscribe(n, 1, filters));
  await client.until('suback', 21);
  client.send(subscribe(22, 1, filters));
  expect(await reasonOf(client)).toBe(0x97);
});
