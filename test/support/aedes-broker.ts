import { once } from 'node:events';
import { createServer } from 'node:net';
import { Aedes } from 'aedes';
import { onTestFinished } from 'vitest';

/** A broker whose responses to `$CONTROL/…` are defined by the test: each published command is passed to `answer`. */
export interface ScriptedBroker {
  readonly url: string;
  /** Payloads that were published to `$CONTROL/…`, oldest first. */
  readonly requests: string[];
  /** The topic filter of each subscription, oldest first. A filter may occur several times. */
  readonly filters: string[];
  /** The topic filter of each UNSUBSCRIBE, oldest first. */
  readonly unsubscribed: string[];
  /** `retain` default: false. */
  publish(topic: string, payload: string | Buffer, retain?: boolean): Promise<void>;
  stop(): Promise<void>;
}

export async function startScriptedBroker(
  answer: (topic: string, payload: string) => readonly (string | Buffer)[],
): Promise<ScriptedBroker> {
  const aedes = await Aedes.createBroker();
  const requests: string[] = [];
  const filters: string[] = [];
  const unsubscribed: string[] = [];
  const publish = (topic: string, payload: string | Buffer, retain = false) =>
    new Promise<void>((resolve, reject) => {
      const packet = { cmd: 'publish', qos: 0, dup: false, retain, topic, payload } as const;
      aedes.publish(packet, (error) => (error ? reject(error) : resolve()));
    });
  aedes.authorizePublish = (_client, _packet, callback) => callback(null);
  aedes.on('publish', (packet, client) => {
    if (!client || !packet.topic.startsWith('$CONTROL/')) return;
    const text = packet.payload.toString();
    requests.push(text);
    for (const payload of answer(packet.topic, text)) void publish(`${packet.topic}/response`, payload);
  });
  aedes.on('subscribe', (subscriptions) => filters.push(...subscriptions.map(({ topic }) => topic)));
  aedes.on('unsubscribe', (ended) => unsubscribed.push(...ended));
  const server = createServer(aedes.handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = async () => {
    server.close();
    await new Promise<void>((resolve) => aedes.close(() => resolve()));
  };
  onTestFinished(stop);
  const { port } = server.address() as { port: number };
  return { url: `mqtt://127.0.0.1:${port}`, requests, filters, unsubscribed, publish, stop };
}
