import { SLICE_MS } from '../../../protocol/mqtt/reading-time-limit.ts';
import { type Admission, type FilterRefusal, filterUsageOf } from '../connecting/admission.ts';
import type { CoreParts } from '../core/core-parts.ts';
import type { SubscribeHandler } from '../delivery/subscribe-handler.ts';
import type { SessionExpiry } from '../sessions/session-expiry.ts';
import { withExpiry } from '../store/message-properties.ts';
import type { RetainedPacket } from '../store/retained-rows.ts';
import type { Session } from '../store/session.ts';
import type { RequestedSubscription } from '../store/subscription.ts';
import { isShared } from '../store/subscription-index.ts';
import { Connection } from './connection.ts';

/** Limits of one reading of retained messages. */
const SLICE = { messages: 100, bytes: 65_536 };

export type ControlOutcome = 'DONE' | 'NOT_FOUND' | 'CONNECTED' | FilterRefusal;

/** Commands of an administrator for one client. Offline clients get retained messages of QoS 1 and 2 queued. */
export class ClientControl {
  readonly #parts: CoreParts;
  readonly #admission: Admission;
  readonly #handler: SubscribeHandler;
  readonly #expiry: Pick<SessionExpiry, 'end'>;

  constructor(parts: CoreParts, admission: Admission, handler: SubscribeHandler, expiry: Pick<SessionExpiry, 'end'>) {
    this.#parts = parts;
    this.#admission = admission;
    this.#handler = handler;
    this.#expiry = expiry;
  }

  /** Closes the connection; the session stays. NOT_FOUND: the client is not connected. */
  async disconnect(clientId: string, discardsWill: boolean): Promise<ControlOutcome> {
    const connection = this.#parts.registry.connection(clientId);
    await connection?.kick(discardsWill);
    return connection ? 'DONE' : 'NOT_FOUND';
  }

  /** Adds or replaces a subscription, with the access control and limits of SUBSCRIBE. */
  async subscribe(clientId: string, requested: RequestedSubscription): Promise<ControlOutcome> {
    const { topic: filter } = requested;
    const found = await this.#find(clientId);
    if (!found) return 'NOT_FOUND';
    const { store } = this.#parts;
    if (!(found instanceof Connection) || found.session) store.journal.requireDisk();
    if (found instanceof Connection) {
      const refusal = this.#admission.refusalFor(found, filter);
      if (refusal) return refusal;
      const sendRetained = this.#handler.addOne(found, requested);
      await store.written();
      sendRetained();
      return 'DONE';
    }
    const identity = { clientId, username: found.about?.username ?? null };
    const refusal = this.#admission.refusal(identity, filter, filterUsageOf(found, filter));
    if (refusal) return refusal;
    await this.#subscribeOffline(found, requested);
    await store.written();
    return 'DONE';
  }

  /** Removes a subscription without regard to access control. Its queued messages stay. */
  async unsubscribe(clientId: string, filter: string): Promise<ControlOutcome> {
    const { store } = this.#parts;
    const found = await this.#find(clientId);
    if (!found) return 'NOT_FOUND';
    if (!(found instanceof Connection) || found.session) store.journal.requireDisk();
    if (found instanceof Connection) this.#handler.remove(found, filter);
    else store.sessions.unsubscribe(clientId, filter);
    await store.written();
    return 'DONE';
  }

  /** Deletes the session of an offline client with its subscriptions and its queue, and publishes its delayed will. */
  async deleteSession(clientId: string): Promise<ControlOutcome> {
    const { store } = this.#parts;
    const found = await this.#find(clientId);
    if (!found) return 'NOT_FOUND';
    if (found instanceof Connection) return 'CONNECTED';
    store.journal.requireDisk();
    this.#expiry.end(clientId);
    await store.written();
    return 'DONE';
  }

  async #find(clientId: string): Promise<Connection | Session | null> {
    const { registry } = this.#parts;
    for (;;) {
      const connection = registry.connection(clientId);
      const session = registry.session(clientId);
      if (connection && !connection.isClosing) return connection;
      if (!connection && !session?.online) return session ?? null;
      await registry.nextChange(clientId);
    }
  }

  async #subscribeOffline(
    session: Session,
    { topic: filter, identifier, ...options }: RequestedSubscription,
  ): Promise<void> {
    const { store, time } = this.#parts;
    const isNew = !session.subscriptions.has(filter);
    const record = identifier === undefined ? options : { ...options, subscriptionIdentifier: identifier };
    store.sessions.subscribe(session.id, filter, record);
    if (isShared(filter) || options.rh === 2 || (options.rh === 1 && !isNew)) return;
    const snapshot = store.retained.snapshot([filter]);
    for (let isDone = false; !isDone && store.sessions.get(session.id) === session; ) {
      const reading = snapshot.read({ ...SLICE, end: performance.now() + SLICE_MS });
      isDone = reading.isDone;
      for (const { packet } of reading.matches) this.#queue(session, packet, { ...options, identifier });
      if (!isDone) await new Promise<void>((resolve) => time.nextIteration(resolve));
    }
  }

  #queue(
    session: Session,
    { topic, payload, qos: published, properties }: RetainedPacket,
    { qos: granted, identifier }: Pick<RequestedSubscription, 'qos' | 'identifier'>,
  ): void {
    const { queues } = this.#parts.store;
    const qos = Math.min(published, granted);
    if (qos === 0) return;
    const identifiers = identifier === undefined ? null : [identifier];
    const grant = { session, qos: qos === 2 ? 2 : 1, retain: true, share: null, identifiers } as const;
    const message = { topic, payload, qos: published, retain: true, properties: withExpiry(properties, Date.now()) };
    for (const { entry } of queues.add([grant], message)) entry.message.isDelivered = true;
  }
}
