import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { expect, test } from 'vitest';
import { BROKER_LIMITS } from '../../../src/data-plane/broker/limits.ts';
import { createSelfSigned } from '../../support/certificates.ts';
import { useTestBroker } from './embedded.ts';
import { rawClient } from './raw-client.ts';
import { connectSecure, MQTTS, PLAIN, startTlsBroker, WSS } from './tls.ts';

const broker = useTestBroker();

const will = { topic: 'will', payload: Buffer.from('gone'), qos: 0, retain: false } as const;

test.each([4, 5] as const)(
  'a silent client is closed by its Keep Alive with its will, others stay [MQTT-3.1.2-22] (protocol %i)',
  async (protocolVersion) => {
    const port = broker().mqttPort;
    const watcher = await rawClient(port, { clientId: 'watcher' }, 'will');
    const patient = await rawClient(port, { clientId: 'patient', protocolVersion, keepalive: 60 });
    const active = await rawClient(port, { clientId: 'active', protocolVersion, keepalive: 1 });
    const since = performance.now();
    const silent = await rawClient(port, { clientId: 'silent', protocolVersion, keepalive: 1, will });
    const pings = setInterval(() => active.send({ cmd: 'pingreq' }), 300);
    await silent.closed;
    expect(performance.now() - since).toBeGreaterThan(1_400);
    await watcher.until('publish', 1);
    clearInterval(pings);
    await active.settle();
    await patient.settle();
  },
);

test('a connection without CONNECT is closed', async () => {
  const since = performance.now();
  const socket = createConnection(broker().mqttPort, '127.0.0.1');
  await once(socket, 'close');
  expect(performance.now() - since).toBeGreaterThan(BROKER_LIMITS.connectTimeoutMs - 100);
});

/** Kernel timers of the broker's connections on this port, from `/proc/net/tcp`. KEEP_ALIVE is that of keep-alive. */
function timersOf(port: number): string[] {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n');
  const fields = rows.map((row) => row.trim().split(/\s+/));
  return fields.flatMap(([, address, , state, , timer]) =>
    address?.endsWith(local) && state === ESTABLISHED ? [timer?.slice(0, 2) ?? ''] : [],
  );
}
const ESTABLISHED = '01';
const KEEP_ALIVE = '02';

test('a silent connection gets TCP keep-alive, a new one has none', async () => {
  const { portOf, setServer } = await startTlsBroker();
  const server = createSelfSigned();
  for (const number of [MQTTS, WSS]) await setServer(number, server);
  await rawClient(portOf(PLAIN), { clientId: 'plain' });
  await connectSecure(portOf(MQTTS), server, { clientId: 'secure' });
  await connectSecure(portOf(WSS), server, { clientId: 'secure web', ws: true });
  expect(timersOf(portOf(WSS))).not.toContain(KEEP_ALIVE);
  const timers = () => [PLAIN, MQTTS, WSS].map((number) => timersOf(portOf(number)));
  // The administrator has a connection, too.
  await expect.poll(timers).toEqual([[KEEP_ALIVE, KEEP_ALIVE], [KEEP_ALIVE], [KEEP_ALIVE]]);
});
