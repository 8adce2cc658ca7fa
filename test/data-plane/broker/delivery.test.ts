import { once } from 'node:events';
import { createConnection } from 'node:net';
import { parser as createParser, generate, type Packet } from 'mqtt-packet';
import { expect, onTestFinished, test } from 'vitest';
import { ADMINISTRATOR, collect, connect, startBrokerHere } from './embedded.ts';
import { rawClient } from './raw-client.ts';
import { BROKERS, PORTS } from './shared.ts';

test('while the queue of a client is sent, QoS 0 messages overtake it, and other messages wait behind it', async () => {
  const { mqttPort } = await startBrokerHere();
  const session = { clientId: 'away', clean: false } as const;
  const away = await connect(mqttPort, session);
  await away.subscribeAsync({ kept: { qos: 1 }, live: { qos: 0 }, 'both/#': { qos: 0 }, 'both/x': { qos: 1 } });
  await away.endAsync();
  const other = await connect(mqttPort);
  const { until } = collect(other);
  await other.subscribeAsync('live');
  // More than sockets hold: sending it lasts until the client reads.
  for (let n = 0; n < 25; n++) await other.publishAsync('kept', Buffer.alloc(1_000_000), { qos: 1 });

  const socket = createConnection(mqttPort as number, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const { username, password } = ADMINISTRATOR;
  const about = { protocolVersion: 4, keepalive: 0, username, password: Buffer.from(password), ...session } as const;
  socket.write(generate({ cmd: 'connect', ...about }));
  const parser = createParser({ protocolVersion: 4 });
  const received: string[] = [];
  const finished = new Promise<void>((resolve) => {
    parser.on('packet', (packet: Packet) => {
      if (packet.cmd === 'publish') received.push(`${packet.topic} ${packet.qos}`);
      if (packet.cmd === 'publish' && packet.topic === 'both/x') resolve();
    });
  });
  const [first] = await once(socket, 'data');
  socket.pause();
  parser.parse(first);
  await other.publishAsync('both/x', 'waits', { qos: 1 });
  // Acknowledged when it was written to everybody, so when the client reads again.
  const passed = other.publishAsync('live', 'passes by', { qos: 1 });
  await until((messages) => messages.length === 1);
  socket.on('data', (chunk) => parser.parse(chunk));
  socket.resume();
  await Promise.all([passed, finished]);
  expect(received.filter((message) => !message.startsWith('kept'))).toEqual(['live 0', 'both/x 1']);
  expect(received.filter((message) => message === 'kept 1')).toHaveLength(25);
  expect(received.at(-1)).toBe('both/x 1');
});

test.each(BROKERS)(
  'queued messages of QoS 1 and 2 keep their order, also when they are sent again (%s)',
  async (name) => {
    const port = await PORTS[name]();
    const session = { clientId: 'back', clean: false, properties: { sessionExpiryInterval: 600 } } as const;
    await (await rawClient(port, session, 'mixed/#')).leave();
    const publisher = await connect(port, { protocolVersion: 5 });
    const numbers = Array.from({ length: 18 }, (_, index) => String(index));
    for (const number of numbers)
      await publisher.publishAsync('mixed/x', number, { qos: Number(number) % 3 === 1 ? 1 : 2 });
    // The second connection gets them again, because the first one acknowledges nothing.
    for (const count of [1, 2]) {
      const back = await rawClient(port, session);
      await back.until('publish', numbers.length);
      const texts = back.packets.flatMap((packet) => (packet.cmd === 'publish' ? String(packet.payload) : []));
      expect(texts, `connection ${count}`).toEqual(numbers);
      if (count === 1) await back.leave();
      else {
        const all = [...numbers, 'live 2', 'live 1'];
        await publisher.publishAsync('mixed/x', 'live 2', { qos: 2 });
        await publisher.publishAsync('mixed/x', 'live 1', { qos: 1 });
        await back.until('publish', all.length);
        expect(
          back.packets
            .filter(({ cmd }) => cmd === 'publish')
            .map((packet) => String((packet as { payload: Buffer }).payload)),
        ).toEqual(all);
      }
    }
  },
);
