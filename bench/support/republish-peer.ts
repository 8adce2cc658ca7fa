/**
 * An mqtt.js client that does the work of a stream at QoS 1: `node republish-peer.js <port> <source> <target> [json]`.
 * With `json` it selects three values of each payload. Without `json` it forwards payloads unchanged.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { connectAsync } from 'mqtt';

export interface Peer {
  readonly pid: number;
  close(): void;
}

export async function startRepublish(port: number, source: string, target: string, json: boolean): Promise<Peer> {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), [
    String(port),
    source,
    target,
    ...(json ? ['json'] : []),
  ]);
  await once(child, 'message');
  return { pid: child.pid ?? 0, close: () => void child.kill() };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.on('disconnect', () => process.exit());
  const [port, source = '', target = '', json] = process.argv.slice(2);
  const client = await connectAsync(`mqtt://127.0.0.1:${port}`, { clientId: `bench-republish-${source}` });
  const picked = (payload: Buffer): string => {
    const { device, values } = JSON.parse(payload.toString());
    return JSON.stringify({ device, temperature: values.temperature, pressure: values.pressure });
  };
  const output: (payload: Buffer) => Buffer | string = json ? picked : (payload) => payload;
  client.on('message', (_topic, payload) => client.publish(target, output(payload), { qos: 1 }));
  await client.subscribeAsync(source, { qos: 1 });
  process.send?.('subscribed');
}
