import { once } from 'node:events';
import { createConnection } from 'node:net';
import { expect, test } from 'vitest';
import { BROKER_LIMITS } from '../../../src/engines/embedded/limits.ts';
import { useTestBroker } from './embedded.ts';
import { rawClient } from './raw-client.ts';

const broker = useTestBroker();

const will = { topic: 'will', payload: Buffer.from('gone'), qos: 0, retain: false } as const;

test.each([4, 5] as const)(
  'a silent client is closed by its Keep Alive with its will, others stay [MQTT-3.1.2-22] (protocol %i)',
  async (protocolVersion) => {
    const port = broker().mqttPort;
    const watcher = await rawClient(port, { clientId: 'watcher' }, 'will');
    const patient = await rawClient(port, { clientId: 'patient', protocolVersion, keepalive: 60 });
    const active = await rawClient(port, { clientId: 'active', protocolVersion, keepalive: 1 });
    const silent = await rawClient(port, { clientId: 'silent', protocolVersion, keepalive: 1, will });
    const since = performance.now();
    const pings = setInterval(() => active.send({ cmd: 'pingreq' }), 300);
    await silent.closed;
    expect(performance.now() - since).toBeGreaterThan(1_400);
    await watcher.until('publish', 1);
    clearInterval(pings);
    await active.settle();
    await patient.settle();
  },
);

test('a connection without CONNECT is closed', { timeout: BROKER_LIMITS.connectTimeoutMs * 6 }, async () => {
  const since = performance.now();
  const socket = createConnection(broker().mqttPort, '127.0.0.1');
  await once(socket, 'close');
  expect(performance.now() - since).toBeGreaterThan(BROKER_LIMITS.connectTimeoutMs - 100);
});
