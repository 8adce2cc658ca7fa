import { setTimeout as delay } from 'node:timers/promises';
import type { IPublishPacket } from 'mqtt-packet';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';

import { rawClient } from './raw-client.ts';
import { fill, memory } from './retained.ts';
import { acknowledgeAll, got, member, numbers, publish, type Raw, subscribe } from './shared.ts';
import { startTappedCore } from './tapped-core.ts';

/** Messages that wait: for the Receive Maximum, behind retained messages, or for an acknowledgement. */

const publishesOf = ({ packets }: Raw): IPublishPacket[] =>
  packets.flatMap((packet) => (packet.cmd === 'publish' ? [packet] : []));

/** Does not read, so that messages wait behind its retained ones on `all/#`. */
async function holding(core: Awaited<ReturnType<typeof startTappedCore>>, client: Raw, clientId: string) {
  const topics = Array.from({ length: 400 }, (_, i) => `all/${i}`);
  fill(core.store, topics, 'x'.repeat(20_000));
  client.pause();
  client.send({
    cmd: 'subscribe',
    messageId: 9,
    subscriptions: [{ topic: 'all/#', qos: 0, nl: false, rap: false, rh: 0 }],
  });
  await expect.poll(() => core.registry.connection(clientId)?.flow.held?.requests).toBe(1);
  return topics.length;
}

test('a message that expires while it waits for the Receive Maximum is not sent, others with the rest of their interval [MQTT-3.3.2-5, MQTT-3.3.2-6]', async () => {
  const { port } = await startTappedCore();
  const client = await rawClient(port, { clientId: 'client', properties: { receiveMaximum: 1 } }, 'a');
  const publisher = await rawClient(port, { clientId: 'publisher' });
  await publish(publisher, 'a', numbers(3), { properties: { messageExpiryInterval: 1 } });
  await publish(publisher, 'a', ['long'], { properties: { messageExpiryInterval: 100 } });
  await client.until('publish', 1);
  // The interval of the specification is in whole seconds.
  await delay(1_100);
  acknowledgeAll(client);
  await client.until('publish', 2);
  await client.settle();
  expect(got(client)).toEqual(['0', 'long']);
  expect(publishesOf(client)[1]?.properties?.messageExpiryInterval).toBeLessThan(100);
});

test.for(['an expired message', 'a message that may no longer be received'])(
  '%s is not sent behind retained messages',
  async (what) => {
    let mayReceive = true;
    const access = { mayReceive: (_: unknown, topic: string) => topic !== 'a' || mayReceive };
    const core = await startTappedCore(temporaryFolder(), {}, access);
    const client = await rawClient(core.port, { clientId: 'client' }, 'a');
    await subscribe(client, 'b');
    const retained = await holding(core, client, 'client');
    const publisher = await rawClient(core.port, { clientId: 'publisher' });
    const isExpiring = what.includes('expired');
    await publish(publisher, 'a', ['old'], isExpiring ? { properties: { messageExpiryInterval: 1 } } : {});
    await publish(publisher, 'b', ['new']);
    if (isExpiring) await delay(1_100);
    else mayReceive = false;
    client.resume();
    await client.until('publish', retained + 1);
    await client.settle();
    expect(got(client).slice(retained)).toEqual(['new']);
  },
);

test('a message of a shared subscription that waits behind retained messages goes to another member when its client leaves', async () => {
  const core = await startTappedCore();
  const { port, store } = core;
  await (await member(port, '$share/g/w', { clientId: 'asleep', clean: false, protocolVersion: 4 })).leave();
  const busy = await member(port, '$share/g/w', { clientId: 'busy' });
  await holding(core, busy, 'busy');
  const publisher = await rawClient(port, { clientId: 'publisher' });
  await publish(publisher, 'w', numbers(10));
  expect(store.sessions.get('asleep')?.queue.size).toBe(0);
  await busy.leave();
  await expect.poll(() => store.sessions.get('asleep')?.queue.size).toBe(10);
});

test('live messages are no longer held when the retained ones are sent, however fast they come', async () => {
  const core = await startTappedCore();
  const { port, registry } = core;
  const client = await rawClient(port, { clientId: 'client' });
  await holding(core, client, 'client');
  const publishers = await Promise.all(numbers(3).map((clientId) => rawClient(port, { clientId })));
  const [one] = publishers;
  const live = { cmd: 'publish', topic: 'all/live', payload: 'x', qos: 0, retain: false, dup: false } as const;
  const burst = Buffer.concat(numbers(500).flatMap(() => one?.packet(live) ?? []));
  let isOver = false;
  const publishing = publishers.map(async (publisher) => {
    while (!isOver) {
      publisher.write(burst);
      await publisher.settle();
    }
  });
  client.resume();
  await expect.poll(() => registry.connection('client')?.flow.held, { timeout: 60_000 }).toBeNull();
  isOver = true;
  await Promise.all(publishing);
});

test('a message that waits does not keep the buffer of the publisher', async () => {
  const { port, registry } = await startTappedCore();
  await rawClient(port, { clientId: 'client', properties: { receiveMaximum: 1 } }, 'a');
  const publisher = await rawClient(port, { clientId: 'publisher' });
  const other = { cmd: 'publish', topic: 'b', payload: Buffer.alloc(15_000), qos: 0, retain: false } as const;
  const others = Buffer.concat(numbers(4).map(() => publisher.packet({ ...other, dup: false })));
  const before = await memory();
  for (let messageId = 1; messageId <= 200; messageId += 1) {
    const waiting = { cmd: 'publish', topic: 'a', payload: 'x', qos: 1, messageId, retain: false, dup: false } as const;
    publisher.write(Buffer.concat([publisher.packet(waiting), others]));
    await publisher.until('puback', messageId);
  }
  expect(registry.connection('client')?.flow.window?.queued).toBe(199);
  expect(await memory(before + 4 * 1_048_576)).toBeLessThan(before + 4 * 1_048_576);
});

test('new messages do not make the broker read the waiting ones of a session again', async () => {
  const { port, store } = await startTappedCore();
  const properties = { sessionExpiryInterval: 60, receiveMaximum: 1 };
  const client = await rawClient(port, { clientId: 'client', clean: false, properties }, 'a');
  const publisher = await rawClient(port, { clientId: 'publisher' });
  await publish(publisher, 'a', numbers(100));
  const queue = store.sessions.get('client')?.queue ?? new Map();
  const { values } = queue;
  let readings = 0;
  queue.values = () => {
    readings += 1;
    return values.call(queue);
  };
  for (let sent = 1; sent <= 100; sent += 1) {
    await client.until('publish', sent);
    await publish(publisher, 'a', ['new']);
    client.send({ cmd: 'puback', messageId: publishesOf(client).at(-1)?.messageId ?? 0 });
  }
  await client.until('publish', 101);
  expect(readings).toBeLessThan(3);
});
