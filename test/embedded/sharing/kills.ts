import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Redis } from '../../support/redis.ts';
import { type NodeOptions, startNodes } from './nodes.ts';
import { countNumbers, cut, publishNumbers, roam } from './roaming.ts';

/**
 * Publishers and subscribers with sessions roam while nodes are killed and connections cut, at random. What was acknowledged has arrived in
 * the end: QoS 1 at least once, QoS 2 once.
 */
export async function killAtRandom(redis: Redis, rounds: number, options: Partial<NodeOptions>): Promise<void> {
  const nodes = await startNodes(redis, 3, { ...options, ownProcess: true });
  const subscriber = roam(nodes, { clientId: 'subscriber' });
  const window = roam(nodes, {
    clientId: 'window',
    protocolVersion: 5,
    properties: { sessionExpiryInterval: 600, receiveMaximum: 3 },
  });
  const counts = [countNumbers(subscriber), countNumbers(window)];
  for (const client of [subscriber, window]) {
    if (!client.connected) await new Promise<void>((resolve) => client.once('connect', () => resolve()));
    await client.subscribeAsync({ 'n/1': { qos: 1 }, 'n/2': { qos: 2 } });
  }
  const publishers = [1, 2].map((qos) => roam(nodes, { clientId: `publisher${qos}` }));
  const publishing = [1, 2].map((qos, index) => publishNumbers(publishers[index] as never, `n/${qos}`, qos as 1 | 2));
  for (let round = 0; round < rounds; round += 1) {
    const before = publishing.map(({ acknowledged }) => acknowledged.length);
    nodes[round % nodes.length]?.kill();
    await delay(randomInt(300));
    cut([subscriber, window, ...publishers][randomInt(4)] as never);
    // Everything goes on.
    while (publishing.some(({ acknowledged }, index) => acknowledged.length < (before[index] ?? 0) + 30))
      await delay(20);
  }
  for (const [index, { stop }] of publishing.entries()) {
    const acknowledged = await stop();
    const topic = `n/${index + 1}`;
    for (const count of counts) {
      await count.until(topic, acknowledged);
      if (index === 1) expect(count.more(topic)).toEqual([]);
    }
  }
}
