import type { Client } from 'aedes';
import type { BrokerStore } from '../store/broker-store.ts';
import type { DeliveryNumber } from '../store/message-queues.ts';
import type { Session } from '../store/session.ts';
import { type Admission, type FilterRefusal, filterUsageOf } from './admission.ts';
import { subscribeClient, unsubscribeClient } from './aedes-internals.ts';
import type { ClientRegistry } from './client-registry.ts';
import type { Connection } from './connection.ts';
import { optionsOf, type RequestedSubscription, subscribeOffline } from './offline-subscribe.ts';

interface ClientControlOptions {
  /** Numbers a message that is queued and not delivered now. */
  readonly number: () => DeliveryNumber;
  readonly store: BrokerStore;
  readonly registry: ClientRegistry;
  readonly admission: Admission;
}

/** NOT_FOUND: the client has neither a connection nor a session. */
export type ControlOutcome = 'DONE' | 'NOT_FOUND' | FilterRefusal;

/**
 * Commands of an administrator for one client, which may be connected or offline.
 *
 * A connected client is subscribed as if it had sent SUBSCRIBE, without SUBACK. If its session is persistent, the
 * subscription is on disk when the method resolves. The session of an offline client gets the subscription, too:
 * retained messages of QoS 1 and 2 are queued, and those of QoS 0 are not sent.
 *
 * The broker applies No Local and Retain As Published, so they work for MQTT 3.1.1 clients, too. Only MQTT 5 clients
 * get a subscription identifier.
 */
export class ClientControl {
  readonly #options: ClientControlOptions;

  constructor(options: ClientControlOptions) {
    this.#options = options;
  }

  /**
   * Closes the connection without publishing the will; the session stays. Resolves when the connection is closed, with
   * `false` if the client is not connected.
   */
  async disconnect(clientId: string): Promise<boolean> {
    const connection = this.#options.registry.connection(clientId);
    await connection?.kick();
    return connection !== undefined;
  }

  /** Adds or replaces a subscription. Access control and limits apply as for SUBSCRIBE. */
  async subscribe(clientId: string, requested: RequestedSubscription): Promise<ControlOutcome> {
    const { admission, store, number } = this.#options;
    const { filter } = requested;
    for (;;) {
      const found = await this.#find(clientId);
      if (!found) return 'NOT_FOUND';
      if ('session' in found) {
        const { about } = found.session;
        const identity = { clientId, username: about?.username ?? null };
        const refusal = admission.refusal(identity, filter, filterUsageOf(found.session, filter));
        if (refusal) return refusal;
        subscribeOffline(store, found.session, requested, number, Date.now());
        await store.commit();
        return 'DONE';
      }
      const { connection, client } = found;
      const refusal = admission.refusalFor(client, connection, filter);
      if (refusal) return refusal;
      const { identifier } = requested;
      const isDone = await settledBy(connection, (done) =>
        subscribeClient(client, optionsOf(requested), identifier, done),
      );
      // Otherwise the client has disconnected meanwhile; its session may still exist.
      if (isDone) return 'DONE';
    }
  }

  /**
   * Removes a subscription, if it exists, without regard to access control. Queued messages stay in the queue. Returns
   * `false` if there is no such client.
   */
  async unsubscribe(clientId: string, filter: string): Promise<boolean> {
    const { store } = this.#options;
    const found = await this.#find(clientId);
    if (!found) return false;
    store.sessions.unsubscribe(clientId, filter);
    if ('client' in found) {
      const { connection, client } = found;
      await settledBy(connection, (done) => unsubscribeClient(client, filter, done));
    }
    await store.commit();
    return true;
  }

  /**
   * Finds the connection or the session that has the client's subscriptions. Waits while the client connects or
   * disconnects.
   */
  async #find(clientId: string): Promise<Connected | Offline | null> {
    const { registry } = this.#options;
    for (;;) {
      const connection = registry.connection(clientId);
      const session = registry.session(clientId);
      const client = connection?.client;
      if (connection && client && !client.closed) return { connection, client };
      if (!connection && !session?.online) return session ? { session } : null;
      await registry.nextChange(clientId);
    }
  }
}

interface Connected {
  readonly connection: Connection;
  readonly client: Client;
}

interface Offline {
  readonly session: Session;
}

/** Waits for the callback of aedes. Returns `false` if the connection was closed before. */
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
