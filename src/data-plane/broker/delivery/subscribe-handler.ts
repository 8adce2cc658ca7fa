import { type Connection, IMPLEMENTATION_ERROR } from '../clients/connection.ts';
import type { Admission } from '../connecting/admission.ts';
import { topicFilterProblem } from '../connecting/topic-rules.ts';
import type { CoreParts } from '../core/core-parts.ts';
import type { SubscribePacket, UnsubscribePacket } from '../packets/incoming-packet.ts';
import { invalidFilter, PACKET_TOO_LARGE, PROTOCOL_ERROR, QUOTA_EXCEEDED } from '../packets/refused-packet.ts';
import { acceptsCodes, respondToSubscribe } from '../packets/responses.ts';
import type { RetainedDelivery } from '../retained/retained-delivery.ts';
import type { RequestedSubscription, Subscription, SubscriptionRecord } from '../store/subscription.ts';
import { isShared } from '../store/subscription-index.ts';

/** Reason codes of SUBACK and UNSUBACK (MQTT 5, 3.9.3, 3.11.3). */
const SUCCESS = 0x00;
const NO_SUBSCRIPTION_EXISTED = 0x11;
const FAILURE = 0x80;
const NOT_AUTHORIZED = 0x87;

const DO_NOT_SEND = 2;
const SEND_IF_NEW = 1;

/**
 * Handles SUBSCRIBE and UNSUBSCRIBE. They take effect immediately, so that later publishes of the client meet them; for
 * a session, the response follows when they are on disk.
 */
export class SubscribeHandler {
  readonly #parts: CoreParts;
  readonly #admission: Admission;
  readonly #retained: RetainedDelivery;

  constructor(parts: CoreParts, admission: Admission, retained: RetainedDelivery) {
    this.#parts = parts;
    this.#admission = admission;
    this.#retained = retained;
  }

  /**
   * Returns the reason code of DISCONNECT if the packet is refused as a whole; otherwise `null`. Errors: RefusedPacket
   * with the topic filter that is not valid.
   */
  subscribe(connection: Connection, packet: SubscribePacket): number | null {
    const { messageId, subscriptions, properties } = packet;
    if (!acceptsCodes(connection, subscriptions.length)) return PACKET_TOO_LARGE;
    if (this.#retained.exceedsLimit(connection)) return QUOTA_EXCEEDED;
    for (const { topic, nl } of subscriptions) {
      assertFilter(topic);
      // [MQTT-3.8.3-4]
      if (nl && isShared(topic)) return PROTOCOL_ERROR;
    }
    const { subscriptionIdentifier: identifier } = properties;
    const added: Subscription[] = [];
    const { onDenied } = this.#parts;
    const granted = subscriptions.map((subscription) => {
      const { topic } = subscription;
      const refusal = this.#admission.refusalFor(connection, topic);
      if (refusal !== null) {
        const reasonCode = reasonOf(refusal, connection.request.protocolVersion);
        onDenied?.(connection, { action: 'SUBSCRIBE', topic, cause: refusal, reasonCode });
        return reasonCode;
      }
      if (this.#cannotStore(connection, recordOf({ ...subscription, identifier }), topic)) {
        return reasonOf('TOO_MANY', connection.request.protocolVersion);
      }
      added.push(...this.#add(connection, { ...subscription, identifier }));
      return subscription.qos;
    });
    this.#respond(connection, { cmd: 'suback', messageId, granted }, this.#retained.request(connection, added));
    return null;
  }

  /** The same for UNSUBSCRIBE. */
  unsubscribe(connection: Connection, packet: UnsubscribePacket): number | null {
    const { access, onDenied } = this.#parts;
    const { identity } = connection;
    const { protocolVersion } = connection.request;
    const { messageId, unsubscriptions } = packet;
    if (!acceptsCodes(connection, unsubscriptions.length)) return PACKET_TOO_LARGE;
    for (const filter of unsubscriptions) assertFilter(filter);
    const granted = unsubscriptions.map((filter) => {
      if (!identity || !access.mayUnsubscribe(identity, filter)) {
        const reasonCode = protocolVersion === 5 ? NOT_AUTHORIZED : null;
        onDenied?.(connection, { action: 'UNSUBSCRIBE', topic: filter, cause: 'FORBIDDEN', reasonCode });
        return NOT_AUTHORIZED;
      }
      if (!connection.holder.subscriptions.has(filter)) return NO_SUBSCRIPTION_EXISTED;
      // MQTT 3 has no reason codes: the response waits until the disk can be written.
      if (protocolVersion === 5 && connection.session && this.#parts.store.hasDiskFault) return IMPLEMENTATION_ERROR;
      this.remove(connection, filter);
      return SUCCESS;
    });
    this.#respond(connection, { cmd: 'unsuback', messageId, granted }, () => {});
    return null;
  }

  /** Adds or replaces a subscription. Returns it if retained messages are to be sent, otherwise nothing. */
  #add(connection: Connection, requested: RequestedSubscription): Subscription[] {
    const { session } = connection;
    const { topic: filter, rh } = requested;
    const isNew = !connection.holder.subscriptions.has(filter);
    const record = recordOf(requested);
    const subscription = session
      ? this.#parts.store.sessions.subscribe(session.id, filter, record)
      : this.#admission.addTransient(connection, filter, record);
    // [MQTT-3.3.1-9 to -11] Retained messages are not sent to shared subscriptions (MQTT 5, 4.8.2).
    if (isShared(filter) || rh === DO_NOT_SEND || (rh === SEND_IF_NEW && !isNew)) return [];
    return [subscription];
  }

  #cannotStore({ session }: Connection, record: SubscriptionRecord, filter: string): boolean {
    const { store } = this.#parts;
    return store.hasDiskFault && session !== null && !store.sessions.hasSame(session, filter, record);
  }

  /** Adds or replaces a subscription. The returned function sends its retained messages, as of this call. */
  addOne(connection: Connection, requested: RequestedSubscription): () => void {
    return this.#retained.request(connection, this.#add(connection, requested));
  }

  /** Returns whether there was such a subscription. Its queued messages stay. */
  remove(connection: Connection, filter: string): boolean {
    if (connection.session) return this.#parts.store.sessions.unsubscribe(connection.session.id, filter);
    return this.#admission.removeTransient(connection, filter);
  }

  #respond(
    connection: Connection,
    response: { readonly cmd: 'suback' | 'unsuback'; readonly messageId: number; readonly granted: number[] },
    sendRetained: () => void,
  ): void {
    const respond = () => {
      if (connection.isClosing) return;
      respondToSubscribe(connection, response);
      sendRetained();
    };
    const { store } = this.#parts;
    // While the disk cannot be written, what was granted is stored already; only MQTT 3 may have unsubscribed.
    const isStored = store.hasDiskFault && (response.cmd === 'suback' || connection.request.protocolVersion === 5);
    if (!connection.session || isStored) {
      respond();
      return;
    }
    // A broken journal shuts the broker down.
    store.written().then(
      () => this.#parts.faults.run(connection, `a client's ${response.cmd} could not be sent`, respond),
      () => {},
    );
  }
}

const recordOf = ({ qos, rh, rap, nl, identifier }: Omit<RequestedSubscription, 'topic'>): SubscriptionRecord => ({
  qos,
  rh,
  rap,
  nl,
  ...(identifier === undefined ? {} : { subscriptionIdentifier: identifier }),
});

/** MQTT 3 knows one reason code only. */
const reasonOf = (refusal: 'FORBIDDEN' | 'TOO_MANY', version: number): number =>
  version < 5 ? FAILURE : refusal === 'TOO_MANY' ? QUOTA_EXCEEDED : NOT_AUTHORIZED;

function assertFilter(filter: string): void {
  const problem = topicFilterProblem(filter);
  if (problem !== null) throw invalidFilter(`the topic filter ${problem}`, filter);
}
