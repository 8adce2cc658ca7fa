import type { Client } from 'aedes';
import type { BrokerStore } from '../store/broker-store.ts';
import type { DeliveryNumber } from '../store/message-queues.ts';
import type { Session } from '../store/session.ts';
import { type Admission, type FilterRefusal, heldBy } from './admission.ts';
import { subscribeClient, unsubscribeClient } from './aedes-internals.ts';
import type { ClientRegistry } from './client-registry.ts';
import type { Connection } from './connection.ts';
import { type GivenSubscription, optionsOf, subscribeAway } from './subscribe-away.ts';

export interface ClientControlOptions {
  /** For a message that is queued and not delivered now. */
  readonly number: () => DeliveryNumber;
  readonly store: BrokerStore;
  readonly registry: ClientRegistry;
  readonly admission: Admission;
}

/** NOT_FOUND: neither connected, nor did it leave a session. */
export type ControlOutcome = 'DONE' | 'NOT_FOUND' | FilterRefusal;

/**
 * What an administrator does to one client by its id, connected or away.
 *
 * A client that is connected gets a subscription as if it had sent SUBSCRIBE, except that no SUBACK comes; with a session that
 * stays it is on disk when this resolves. A session whose client is away gets it the same; retained messages that would be sent at
 * QoS 1 or 2 go into its queue, and those of QoS 0 nowhere.
 *
 * No Local and Retain As Published are done by the broker and kept with the subscription, so they hold for a client of MQTT 3.1.1,
 * too; a subscription identifier is told to those of MQTT 5 alone.
 */
export class ClientControl {
  readonly #options: ClientControlOptions;

  constructor(options: ClientControlOptions) {
    this.#options = options;
  }

  /** Without its will; its session stays. Resolves when the connection is gone. False: the client is not connected. */
  async disconnect(clientId: string): Promise<boolean> {
    const connection = this.#options.registry.connection(clientId);
    await connection?.kick();
    return connection !== undefined;
  }

  /** Replaces a subscription to the same filter. Access control and limits hold for it as for one that the client asks for. */
  async subscribe(clientId: string, given: GivenSubscription): Promise<ControlOutcome> {
    const { admission, store, number } = this.#options;
    const { filter } = given;
    for (;;) {
      const found = await this.#find(clientId);
      if (!found) return 'NOT_FOUND';
      if ('session' in found) {
        const { about } = found.session;
        const identity = { clientId, username: about?.username ?? null };
        const refusal = admission.refusal(identity, filter, heldBy(found.session, filter));
        if (refusal) return refusal;
        subscribeAway(store, found.session, given, number, Date.now());
        await store.commit();
        return 'DONE';
      }
      const { connection, client } = found;
      const refusal = admission.refusalFor(client, connection, filter);
      if (refusal) return refusal;
      // aedes answers nothing where the client goes meanwhile; its session may have stayed.
      if (await settledBy(connection, (done) => subscribeClient(client, optionsOf(given), given.identifier, done)))
        return 'DONE';
    }
  }

  /**
   * Also where it is not subscribed, which MQTT counts as success, too (UNSUBACK 0x11); and where the client itself may not
   * unsubscribe. What waits in its queue stays there. False: there is no such client.
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

  /** Who has the client's subscriptions now: its connection, or the session that it left. Waits while one is on its way in or out. */
  async #find(clientId: string): Promise<Connected | Away | null> {
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

interface Away {
  readonly session: Session;
}

/** Runs what aedes calls back for. False: the connection ended before. */
function settledBy(connection: Connection, run: (done: (error?: Error | null) => void) => void): Promise<boolean> {
  return new Promise((resolve, reject) => {
    // Connections last, and may be told something often.
    const stop = connection.onGone(() => resolve(false));
    run((error) => {
      stop();
      if (error) reject(error);
      else resolve(true);
    });
  });
}
