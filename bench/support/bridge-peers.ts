/**
 * Processes that forward messages between two brokers at QoS 1: `<root>/out` from the first to the second, `<root>/in`
 * back. `node bridge-peers.js <port> <port> <root> bridge <folder>|safe|quick`.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { connectAsync, type MqttClient } from 'mqtt';
import { startMqttBridge } from '../../src/data-plane/bridges/mqtt/mqtt-bridge.ts';

interface Peer {
  readonly pid: number;
  close(): void;
}

/** The bridge of the product. */
export const startBridgeProcess = (here: number, there: number, root: string, folder: string): Promise<Peer> =>
  start([String(here), String(there), root, 'bridge', folder]);

/** Two mqtt.js clients for each direction. `safe`: acknowledges a message after the other broker has done so. */
export const startBridgePeer = (here: number, there: number, root: string, safe: boolean): Promise<Peer> =>
  start([String(here), String(there), root, safe ? 'safe' : 'quick']);

async function start(args: string[]): Promise<Peer> {
  const execArgv =
    process.env.BENCH_PROFILE && args.includes('bridge')
      ? ['--cpu-prof', `--cpu-prof-dir=${process.env.BENCH_PROFILE}`]
      : [];
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), args, { execArgv });
  await once(child, 'message');
  return { pid: child.pid ?? 0, close: () => void child.disconnect() };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.on('disconnect', () => process.exit());
  const [here, there, root = '', kind, folder = ''] = process.argv.slice(2);
  const [a, b] = [`mqtt://127.0.0.1:${here}`, `mqtt://127.0.0.1:${there}`];
  if (kind === 'bridge') {
    const bridge = startMqttBridge({
      brokerId: 'bench',
      bridgeId: 'mqtt-bridge',
      local: { id: 'bench', url: a, timeoutMs: 5_000 },
      rules: { allowedHosts: [] },
      folder,
      onFault: (error) => {
        throw error;
      },
    });
    await bridge.apply({
      connections: [{ name: 'bench', url: b, topics: [{ pattern: `${root}/#`, direction: 'both', qos: 1 }] }],
    });
  } else {
    const connect = (url: string, name: string) => connectAsync(url, { clientId: `bench-${root}-${name}` });
    await pass(await connect(a, 'out-a'), await connect(b, 'out-b'), `${root}/out`);
    await pass(await connect(b, 'in-b'), await connect(a, 'in-a'), `${root}/in`);
  }
  process.send?.('started');

  async function pass(from: MqttClient, to: MqttClient, topic: string): Promise<void> {
    if (kind === 'safe') {
      from.handleMessage = (packet, done) => {
        to.publish(packet.topic, packet.payload, { qos: 1, retain: packet.retain }, (error) =>
          done(error ?? undefined),
        );
      };
    } else {
      from.on('message', (name, payload, { retain }) => {
        to.publish(name, payload, { qos: 1, retain });
      });
    }
    await from.subscribeAsync(topic, { qos: 1 });
  }
}
