import { setTimeout as delay } from 'node:timers/promises';
import { type ControlEvent, requestTopic, responseTopic } from '../../../protocol/control/envelope.ts';
import type { ControlPlugin } from '../../../protocol/control/plugin.ts';
import { serveControlRequest } from '../../../protocol/control/serve.ts';

export interface ControlServerOptions {
  /** To everyone who subscribed to the topic; QoS 0, not retained. Resolves when it was written to their sockets. */
  readonly publish: (topic: string, payload: string) => Promise<void>;
  readonly onBug: (error: unknown, command: string) => void;
}

/** How long what follows an answer waits at most for it to be delivered. */
const DELIVERY_TIMEOUT_MS = 500;

/** The one who asked. */
export interface Asker {
  /** Whether it may publish on a topic. */
  maySend(topic: string): boolean;
  /** Whether it gets what is published on a topic. */
  receives(topic: string): boolean;
  /** Resolves when it was written. It gets it whether or not it subscribed and may receive it. */
  send(topic: string, payload: string): Promise<void>;
}

interface Endpoint {
  readonly plugin: ControlPlugin;
  readonly response: string;
  /** The request being served. */
  tail: Promise<void>;
}

/**
 * The `$CONTROL` side of the embedded broker: one plugin per API, requests of one API one after the other, in the order in which
 * they came. Responses and events go to all subscribers of the response topic. A topic without a plugin is answered to the
 * requester alone: `{"error":"endpoint not available"}`, as Mosquitto 2.1 does.
 */
export class ControlServer {
  readonly #options: ControlServerOptions;
  readonly #endpoints = new Map<string, Endpoint>();

  constructor(options: ControlServerOptions) {
    this.#options = options;
  }

  register(plugin: ControlPlugin): void {
    const { api } = plugin;
    this.#endpoints.set(requestTopic(api), { plugin, response: responseTopic(api), tail: Promise.resolve() });
  }

  get plugins(): readonly ControlPlugin[] {
    return Array.from(this.#endpoints.values(), ({ plugin }) => plugin);
  }

  emit(api: ControlPlugin['api'], event: ControlEvent): void {
    // Tools that wait for answers, and were written for brokers without events, look through `responses` of whatever comes there.
    void this.#options.publish(responseTopic(api), JSON.stringify({ ...event, responses: [] }));
  }

  /** Resolves when the request was answered, or could not be: what it did could not be kept. Never rejects. */
  serve(topic: string, payload: Uint8Array, asker: Asker): Promise<void> {
    const endpoint = this.#endpoints.get(topic);
    if (!endpoint) {
      void asker.send(`${topic}/response`, JSON.stringify({ error: 'endpoint not available' }));
      return Promise.resolve();
    }
    endpoint.tail = endpoint.tail
      // What was asked before may have taken away its right.
      .then(() => (asker.maySend(topic) ? this.#answer(endpoint, payload, asker) : undefined))
      .catch((error: unknown) => this.#options.onBug(error, topic));
    return endpoint.tail;
  }

  async #answer({ plugin, response: topic }: Endpoint, payload: Uint8Array, asker: Asker): Promise<void> {
    const isExpected = asker.receives(topic);
    const response = await serveControlRequest(payload, plugin, this.#options.onBug);
    const afterwards = plugin.afterAnswer?.();
    // Whoever takes away its own right to receive answers has this last one.
    const isLost = isExpected && !asker.receives(topic);
    const published = this.#options.publish(topic, response);
    const delivered = isLost ? Promise.all([published, asker.send(topic, response)]) : published;
    // One subscriber whose socket is full must not put it off for the others.
    if (afterwards)
      void Promise.race([delivered, delay(DELIVERY_TIMEOUT_MS, undefined, { ref: false })]).then(afterwards);
  }

  async close(): Promise<void> {
    for (const { plugin } of this.#endpoints.values()) await plugin.close();
    this.#endpoints.clear();
  }
}
