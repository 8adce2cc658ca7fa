import type { Client } from 'aedes';
import { withExpiry } from '../store/message-properties.ts';
import type { Session } from '../store/session.ts';
import { type Admission, type FilterRefusal, filterUsageOf } from './admission.ts';
import { type RequestedSubscription, subscribeClient, unsubscribeClient } from './aedes-internals.ts';
import type { Connection } from './connection.ts';
import type { CoreParts } from './core-parts.ts';
import type { Delivery } from './delivery.ts';

export type ControlOutcome = 'DONE' | 'NOT_FOUND' | FilterRefusal;

/** Commands of an administrator for one client. Offline clients get retained messages of QoS 1 and 2 queued. */
export class ClientControl {
  readonly #parts: CoreParts;
  readonly #admission: Admission;
  readonly #delivery: Delivery;

  constructor(parts: CoreParts, admission: Admission, delivery: Delivery) {
    this.#parts = parts;
    this.#admission = admission;
    this.#delivery = delivery;
  }

  /** Closes the connection without its will; the session stays. NOT_FOUND: the client is not connected. */
  async disconnect(clientId: string): Promise<ControlOutcome> {
    const connection = this.#parts.registry.connection(clientId);
    await connection?.kick();
    return connection ? 'DONE' : 'NOT_FOUND';
  }

  /** Adds or replaces a subscription, with the access control and limits of SUBSCRIBE. */
  async subscribe(clientId: string, requested: RequestedSubscription): Promise<ControlOutcome> {
    const { topic: filter } = requested;
    for (;;) {
      const found = await this.#find(clientId);
      if (!found) return 'NOT_FOUND';
      if ('session' in found) {
        const { about } = found.session;
        const identity = { clientId, username: about?.username ?? null };
        const refusal = this.#admission.refusal(identity, filter, filterUsageOf(found.session, filter));
        if (refusal) return refusal;
        this.#subscribeOffline(found.session, requested);
        await this.#parts.store.commit();
        return 'DONE';
      }
      const { connection, client } = found;
      const refusal = this.#admission.refusalFor(client, connection, filter);
      if (refusal) return refusal;
      const isDone = await settledBy(connection, (done) => subscribeClient(client, requested, done));
      // Otherwise the client has disconnected meanwhile; its session may still exist.
      if (isDone) return 'DONE';
    }
  }

  /** Removes a subscription without regard to access control. Its queued messages stay. */
  async unsubscribe(clientId: string, filter: string): Promise<ControlOutcome> {
    const { store } = this.#parts;
    const found = await this.#find(clientId);
    if (!found) return 'NOT_FOUND';
    store.sessions.unsubscribe(clientId, filter);
    if ('client' in found) {
      const { connection, client } = found;
      await settledBy(connection, (done) => unsubscribeClient(client, filter, done));
    }
    await store.commit();
    return 'DONE';
  }

  async #find(clientId: string): Promise<{ connection: Connection; client: Client } | { session: Session } | null> {
    const { registry } = this.#parts;
    for (;;) {
      const connection = registry.connection(clientId);
      const session = registry.session(clientId);
      const client = connection?.client;
      if (connection && client && !client.closed) return { connection, client };
      if (!connection && !session?.online) return session ? { session } : null;
      await registry.nextChange(clientId);
    }
  }

  #subscribeOffline(session: Session, { topic: filter, identifier, ...options }: RequestedSubscription): void {
    const { store } = this.#parts;
    const now = Date.now();
    const isNew = !session.subscriptions.has(filter);
    const record = identifier === undefined ? options : { ...options, subscriptionIdentifier: identifier };
    store.sessions.subscribe(session.id, filter, record);
    if (options.rh === 2 || (options.rh === 1 && !isNew)) return;
    for (const { topic, payload, qos: published, properties } of store.retained.matching([filter], now)) {
      const qos = Math.min(published, options.qos);
      if (qos === 0) continue;
      const grant = { qos: qos === 2 ? 2 : 1, retain: true } as const;
      const queued = { topic, payload, properties: withExpiry(properties, now) };
      const message = store.queues.add(new Map([[session, grant]]), queued);
      if (message) store.queues.number(message, this.#delivery.number());
    }
  }
}

function settledBy(connection: Connection, run: (done: (error?: Error | null) => void) => void): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const stop = connection.onClosed(() => resolve(false));
    run((error) => {
      stop();
      if (error) reject(error);
      else resolve(true);
    });
  });
}
