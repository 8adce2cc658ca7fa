import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { checkRedis } from '../../../src/embedded/sharing/redis-log/redis-upkeep.ts';
import { createAuthority } from '../../support/certificates.ts';
import { startRedis } from '../../support/redis.ts';
import { collect, connect, packetsOf, temporaryFolder } from '../embedded.ts';
import { collectFrom, nodeOf, startNodes, useRedis } from './nodes.ts';

const redis = useRedis();

test('messages reach subscribers at other nodes', async () => {
  const [one, two, three] = await startNodes(redis(), 3);
  const publisher = await connect(one?.mqttPort ?? 0, { clientId: 'publisher', protocolVersion: 5 });
  const subscribers = await Promise.all(
    [one, two, three].map((node, index) => connect(node?.mqttPort ?? 0, { clientId: `s${index}`, protocolVersion: 5 })),
  );
  const seen = subscribers.map((client) => packetsOf(client));
  for (const client of subscribers) await client.subscribeAsync('a/#', { qos: 2 });
  for (const qos of [0, 1, 2] as const) {
    await publisher.publishAsync(`a/${qos}`, `m${qos}`, {
      qos,
      properties: { contentType: 'text', userProperties: { k: ['v', 'w'] }, correlationData: Buffer.from([0, 255]) },
    });
  }
  await publisher.publishAsync('a/r', 'kept', { qos: 1, retain: true });
  for (const one of seen) {
    const packets = await one.until((all) => all.length === 4);
    expect(new Set(packets.map(({ topic, text, qos }) => `${topic} ${text} ${qos}`))).toEqual(
      new Set(['a/0 m0 0', 'a/1 m1 1', 'a/2 m2 2', 'a/r kept 1']),
    );
    for (const { topic, properties } of packets) {
      if (topic === 'a/r') continue;
      expect(properties).toMatchObject({
        contentType: 'text',
        userProperties: { k: ['v', 'w'] },
        correlationData: Buffer.from([0, 255]),
      });
    }
  }
  const late = await connect(three?.mqttPort ?? 0, { clientId: 'late' });
  const retained = collect(late);
  await late.subscribeAsync('a/r');
  expect(await retained.until((all) => all.length === 1)).toMatchObject([{ text: 'kept', retain: true }]);
  expect(await nodeOf(late)).toMatchObject({ nodeId: 3, mode: 'FULL', state: 'MEMBER' });
});

test('a session goes on at another node, with what came meanwhile', async () => {
  const [one, two] = await startNodes(redis(), 2);
  const options = { clientId: 'mover', clean: false };
  const first = await connect(one?.mqttPort ?? 0, options);
  await first.subscribeAsync('q/#', { qos: 2 });
  await first.endAsync();
  const publisher = await connect(two?.mqttPort ?? 0);
  for (let index = 0; index < 50; index += 1) {
    await publisher.publishAsync('q/1', String(index), { qos: index % 2 === 0 ? 1 : 2 });
  }
  const { until } = collectFrom(two?.mqttPort ?? 0, options);
  const messages = await until((all) => all.length === 50);
  for (const parity of [0, 1]) {
    const numbers = messages.map(({ text }) => Number(text)).filter((number) => number % 2 === parity);
    expect(numbers).toEqual(Array.from({ length: 25 }, (_, index) => 2 * index + parity));
  }
});

test('over TLS to a Redis whose authority Node knows by NODE_EXTRA_CA_CERTS, and to no other', async () => {
  const authority = createAuthority();
  const tls = await startRedis({ tls: authority.issue({ name: 'redis' }), password: 'secret' });
  const file = join(temporaryFolder(), 'authority.pem');
  writeFileSync(file, authority.leaf);
  // For processes that begin now: this one knows nobody.
  vi.stubEnv('NODE_EXTRA_CA_CERTS', file);
  const [one, two] = await startNodes(tls, 2, { ownProcess: true });
  vi.unstubAllEnvs();
  const publisher = await connect(one?.mqttPort ?? 0);
  await publisher.publishAsync('kept', 'over TLS', { qos: 1, retain: true });
  const reader = await connect(two?.mqttPort ?? 0);
  const retained = collect(reader);
  await reader.subscribeAsync('kept');
  expect(await retained.until((all) => all.length === 1)).toMatchObject([{ text: 'over TLS' }]);
  await expect(checkRedis(tls.url, 30_000)).rejects.toThrow(/certificate/);
});
