import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../support/free-port.ts';
import { bearer } from '../../support/service.ts';
import { type ServiceProcess, startServiceProcess } from '../../support/service-process.ts';

/**
 * Connections without credentials, from as many networks as the bound per network requires. The service needs a few
 * more.
 */
const CONNECTIONS = 9_900;
const PER_NETWORK = 990;
const AT_ONCE = 200;

/** Maximum resident memory of all connections, without the memory of the idle service, in MB. */
const MAX_MB = { idle: 200, 'half-open': 350 } as const;

const HALF_BODY = `${[
  'POST /graphql HTTP/1.1',
  'Host: localhost',
  'Content-Type: application/json',
  'Content-Length: 65000',
].join('\r\n')}\r\n\r\n${'x'.repeat(60_000)}`;

const UPGRADE = `${[
  'GET /graphql HTTP/1.1',
  'Host: localhost',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Protocol: graphql-transport-ws',
].join('\r\n')}\r\n\r\n`;

async function start() {
  const mqttPort = await freePort();
  const env = { EMBEDDED_BROKER: 'on', MQTT_PORT: String(mqttPort), MQTT_WS_PORT: '0', MQTT_TLS_PORT: 'off' };
  return { service: await startServiceProcess(env), mqttPort };
}

/** Opens all connections, sends the text over each and keeps them open. Received bytes are discarded. */
async function openAll(port: number, text: string, watch: () => void): Promise<Socket[]> {
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  const open = async (i: number) => {
    const localAddress = `127.0.${1 + Math.floor(i / PER_NETWORK)}.1`;
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.on('error', () => undefined);
    socket.resume();
    sockets.push(socket);
    await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
    if (text !== '') await new Promise<void>((sent) => socket.write(text, () => sent()));
  };
  for (let i = 0; i < CONNECTIONS; i += AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, CONNECTIONS - i) }, (_, n) => open(i + n)));
    watch();
  }
  return sockets;
}

const KINDS: readonly [string, string, keyof typeof MAX_MB, 'http' | 'mqtt'][] = [
  ['HTTP connections that send nothing', '', 'idle', 'http'],
  ['WebSockets over which nothing is sent', UPGRADE, 'idle', 'http'],
  ['requests with unfinished bodies', HALF_BODY, 'half-open', 'http'],
  ['MQTT connections that send nothing', '', 'idle', 'mqtt'],
];

test.each(KINDS)('%s: nearly 10,000 at once stay within the memory bound', async (_name, text, bound, listener) => {
  const { service, mqttPort } = await start();
  await isHealthy(service);
  const before = service.rss();
  let peak = before;
  const watch = () => {
    peak = Math.max(peak, service.rss());
  };
  const port = listener === 'mqtt' ? mqttPort : Number(new URL(service.url).port);
  const sockets = await openAll(port, text, watch);
  await isHealthy(service);
  watch();
  const open = sockets.filter(({ destroyed }) => !destroyed).length;
  console.log(`${_name}: ${open} open, ${Math.round(before)} MB before, ${Math.round(peak)} MB at most`);
  expect(peak - before).toBeLessThan(MAX_MB[bound]);
  // MQTT connections are closed after 10 s without a CONNECT, which may have passed for the first ones.
  if (listener === 'http') expect(open).toBe(CONNECTIONS);
});

/** Checks that a caller with credentials gets responses meanwhile. */
async function isHealthy({ url, root }: ServiceProcess): Promise<void> {
  const response = await fetch(`${url}/api/projects`, { headers: { ...bearer(root), connection: 'close' } });
  expect(response.status).toBe(200);
}
