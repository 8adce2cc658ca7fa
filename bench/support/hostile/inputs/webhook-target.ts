/** Targets of webhooks that respond without end. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { graphql } from '../http-tools.ts';
import type { Group, Target } from '../input.ts';
import { openMqtt } from '../mqtt-tools.ts';
import { times } from './texts.ts';

const HOLD_MS = 5_000;
const UPDATE = 'mutation ($i: UpdateBridgeConfigInput!) { updateBridgeConfig(input: $i) { bridge { id } } }';

/** Points webhooks of the broker at a target, and publishes for them. The result is that of switching them off. */
async function hostileTarget(target: Target, run: number, text: string): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    const fill = () => {
      while (!socket.destroyed && socket.write(text));
    };
    socket.on('drain', fill);
    socket.once('data', fill);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const secret = `whsec_${Buffer.alloc(24, 'a secret').toString('base64')}`;
  const connections = times(4, (i) => ({ name: `hook-${i}`, url, secret, topics: ['hook/#'] }));
  const configure = (config: object) =>
    graphql(target, UPDATE, { i: { brokerId: target.brokerId, bridgeKey: 'webhook-bridge', config } }, target.admin);
  await configure({ connections });
  const writer = await openMqtt(target, { ...target.device, clientId: `hook-${run}` });
  await Promise.all(times(20, () => writer.publish('hook/a', 'x', 1)));
  await new Promise((resolve) => setTimeout(resolve, HOLD_MS));
  const off = await configure({ connections: [] });
  writer.socket.destroy();
  for (const socket of sockets) socket.destroy();
  server.close();
  return `switched off: ${off}`;
}

const hostile = (name: string, what: string, text: string) => ({
  name,
  what,
  atOnce: 1,
  attack: (target: Target, run: number) => hostileTarget(target, run, text),
});

export const webhookTarget: Group = {
  who: 'webhook target',
  inputs: [
    hostile('interim-responses', '100 Continue without end', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(2_000)),
    hostile('endless-body', 'a response body without end', `HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(60_000)}`),
  ],
};
