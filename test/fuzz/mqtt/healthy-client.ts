import { connectAsync, type MqttClient } from 'mqtt';
import type { Account } from './encode.ts';
import { sendAtOnce } from './send-at-once.ts';

/** Maximum time for the client's own message in milliseconds. Generous, because tests share their machine. */
const MAX_ROUND_TRIP = 30_000;
const TOPIC = 'healthy';
/** Pause between two messages, in milliseconds. */
const PAUSE = 20;

interface HealthyClientOptions {
  readonly port: number;
  readonly account: Account;
  readonly onLost: (message: string) => void;
}

/**
 * A client with a persistent session that publishes to itself at QoS 1. Each message must arrive before the next one is
 * sent, also if the broker restarts.
 */
export class HealthyClient {
  /** Number of messages that arrived. */
  roundTrips = 0;
  readonly #client: MqttClient;
  readonly #onLost: (message: string) => void;
  readonly #beating: Promise<void>;
  #isClosed = false;
  #waiting: (() => void)[] = [];
  #arrived: (text: string) => void = () => {};
  #giveUp: () => void = () => {};
  #hurry: () => void = () => {};

  private constructor(client: MqttClient, { onLost }: HealthyClientOptions) {
    this.#client = client;
    this.#onLost = onLost;
    client.on('error', () => {});
    sendAtOnce(client);
    client.on('message', (_topic, payload) => this.#arrived(payload.toString()));
    this.#beating = this.#beat();
  }

  static async start(options: HealthyClientOptions): Promise<HealthyClient> {
    const { port, account } = options;
    const client = await connectAsync(`mqtt://127.0.0.1:${port}`, {
      ...account,
      clientId: 'healthy-client',
      protocolVersion: 5,
      clean: false,
      properties: { sessionExpiryInterval: 3_600 },
      reconnectPeriod: 20,
    });
    await client.subscribeAsync(TOPIC, { qos: 1 });
    return new HealthyClient(client, options);
  }

  /** Resolves when a message that is published after the call has arrived, or when the client is closed. */
  async settle(): Promise<void> {
    if (this.#isClosed) return;
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      this.#hurry();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    // Without a callback, because mqtt.js 5 never calls it if the connection is being lost.
    this.#client.end(true);
    this.#giveUp();
    await this.#beating;
  }

  async #beat(): Promise<void> {
    while (!this.#isClosed) {
      const waiting = this.#waiting;
      this.#waiting = [];
      await this.#roundTrip(String(this.roundTrips));
      for (const resolve of waiting) resolve();
      if (this.#waiting.length === 0) await this.#pause();
    }
    for (const resolve of this.#waiting) resolve();
  }

  async #roundTrip(text: string): Promise<void> {
    const arrived = new Promise<boolean>((resolve) => {
      const timer = setTimeout(resolve, MAX_ROUND_TRIP, false);
      const end = () => {
        clearTimeout(timer);
        resolve(true);
      };
      this.#giveUp = end;
      this.#arrived = (other) => {
        if (other === text) end();
      };
    });
    // Rejects if the client is closed.
    this.#client.publishAsync(TOPIC, text, { qos: 1 }).catch(() => {});
    if (!(await arrived)) this.#onLost(`the message of a healthy client did not arrive in ${MAX_ROUND_TRIP} ms`);
    this.roundTrips += 1;
  }

  /** Waits between two messages, unless `settle` waits for the next one. */
  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, PAUSE);
      this.#hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
