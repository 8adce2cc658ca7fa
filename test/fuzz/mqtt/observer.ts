import { connectAsync, type IPublishPacket, type MqttClient } from 'mqtt';
import type { Account } from './encode.ts';
import { sendAtOnce } from './send-at-once.ts';

export const MARKER = 'observer/marker';
/** Maximum time for the observer's own message in milliseconds. Generous, because tests share their machine. */
const MAX_ROUND_TRIP = 30_000;

/** A healthy client with a persistent session that receives all messages, including its own markers. */
export class Observer {
  readonly #client: MqttClient;
  readonly #ignored: (topic: string) => boolean;
  #messages: IPublishPacket[] = [];
  #markers = 0;
  #arrived: (text: string) => void = () => {};

  private constructor(client: MqttClient, ignored: (topic: string) => boolean) {
    this.#client = client;
    this.#ignored = ignored;
    client.on('error', () => {});
    sendAtOnce(client);
    client.on('message', (topic, payload, packet) => {
      if (topic === MARKER) this.#arrived(payload.toString());
      else if (!this.#ignored(topic)) this.#messages.push(packet);
    });
  }

  /** `ignored`: whether messages on a topic do not belong to a sequence. */
  static async start(port: number, account: Account, ignored: (topic: string) => boolean): Promise<Observer> {
    const client = await connectAsync(`mqtt://127.0.0.1:${port}`, {
      ...account,
      clientId: 'observer',
      protocolVersion: 5,
      clean: false,
      properties: { sessionExpiryInterval: 3_600 },
      reconnectPeriod: 20,
    });
    const observer = new Observer(client, ignored);
    // Messages of QoS 2 would arrive later than a marker that was published after them.
    await client.subscribeAsync('#', { qos: 1, rap: true });
    return observer;
  }

  /** Publishes a marker and resolves when it has arrived. All messages before it have arrived, too. */
  async settle(): Promise<void> {
    this.#markers += 1;
    const text = String(this.#markers);
    let timer: NodeJS.Timeout | undefined;
    const arrived = new Promise<void>((resolve, reject) => {
      this.#arrived = (other) => {
        if (other === text) resolve();
      };
      timer = setTimeout(() => reject(new Error(`the observer is not served in ${MAX_ROUND_TRIP} ms`)), MAX_ROUND_TRIP);
    });
    this.#client.publishAsync(MARKER, text, { qos: 1 }).catch(() => {});
    await arrived.finally(() => clearTimeout(timer));
  }

  /** Returns the messages since the previous call. */
  take(): readonly IPublishPacket[] {
    const messages = this.#messages;
    this.#messages = [];
    return messages;
  }

  /** Deletes retained messages. */
  async clear(topics: readonly string[]): Promise<void> {
    await Promise.all(topics.map((topic) => this.#client.publishAsync(topic, '', { qos: 1, retain: true })));
  }

  close(): void {
    // Without a callback, because mqtt.js 5 never calls it if the connection is being lost.
    this.#client.end(true);
  }
}
