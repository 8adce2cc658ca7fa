import { setTimeout as delay } from 'node:timers/promises';
import { ConcurrencyLimit } from '../../../platform/scheduling/concurrency-limit.ts';
import { type ControlEvent, requestTopic, responseTopic } from '../../../protocol/control/envelope.ts';
import type { ControlPlugin } from '../../../protocol/control/plugin.ts';
import { serveControlRequest } from '../../../protocol/control/serve.ts';

interface ControlServerOptions {
  /** Publishes with QoS 0, not retained. Resolves when the message was written to the sockets. */
  readonly publish: (topic: string, payload: string) => Promise<void>;
  readonly onBug: (error: unknown, command: string) => void;
}

const DELIVERY_TIMEOUT_MS = 500;

/** The client that sends a request. */
export interface Requester {
  maySend(topic: string): boolean;
  receives(topic: string): boolean;
  /** Sends without regard to subscriptions and permissions. Resolves when the message was written. */
  send(topic: string, payload: string): Promise<void>;
}

/** Serves `$CONTROL` with one plugin per API, one request after the other. Responses are published. */
export class ControlServer {
  readonly #options: ControlServerOptions;
  readonly #endpoints = new Map<string, { readonly plugin: ControlPlugin; readonly queue: ConcurrencyLimit }>();

  constructor(options: ControlServerOptions) {
    this.#options = options;
  }

  register(plugin: ControlPlugin): void {
    this.#endpoints.set(requestTopic(plugin.api), { plugin, queue: new ConcurrencyLimit({ maxRunning: 1 }) });
  }

  get plugins(): readonly ControlPlugin[] {
    return Array.from(this.#endpoints.values(), ({ plugin }) => plugin);
  }

  emit(api: ControlPlugin['api'], event: ControlEvent): void {
    // Tools for brokers without events expect `responses` in each message of the topic.
    void this.#options.publish(responseTopic(api), JSON.stringify({ ...event, responses: [] }));
  }

  /** Resolves when the response was sent, or its changes could not be stored. Never rejects. */
  serve(topic: string, payload: Uint8Array, requester: Requester): Promise<void> {
    const endpoint = this.#endpoints.get(topic);
    if (!endpoint) {
      // Tools that do not look at `error` expect `responses` in each message of the topic.
      void requester.send(`${topic}/response`, JSON.stringify({ error: 'endpoint not available', responses: [] }));
      return Promise.resolve();
    }
    const { plugin, queue } = endpoint;
    // An earlier request may have removed the permission.
    const work = async () => requester.maySend(topic) && this.#respond(plugin, payload, requester);
    return queue.run(work).then(
      () => {},
      (error: unknown) => this.#options.onBug(error, topic),
    );
  }

  async #respond(plugin: ControlPlugin, payload: Uint8Array, requester: Requester): Promise<void> {
    const topic = responseTopic(plugin.api);
    const isExpected = requester.receives(topic);
    const response = await serveControlRequest(payload, plugin, this.#options.onBug);
    const afterwards = plugin.afterAnswer?.();
    // A requester that removes its own permission to receive responses still gets this response.
    const isLost = isExpected && !requester.receives(topic);
    const published = this.#options.publish(topic, response);
    const delivered = isLost ? Promise.all([published, requester.send(topic, response)]) : published;
    // One subscriber whose socket is full must not delay the actions.
    if (afterwards)
      void Promise.race([delivered, delay(DELIVERY_TIMEOUT_MS, undefined, { ref: false })]).then(afterwards);
  }

  async close(): Promise<void> {
    for (const { plugin } of this.#endpoints.values()) await plugin.close();
    this.#endpoints.clear();
  }
}
