import type { BrokerStore } from '../store/broker-store.ts';
import { takenIn } from '../store/message-properties.ts';
import type { DeliveryNumber } from '../store/message-queues.ts';
import type { Session } from '../store/session.ts';

/** A subscription with the options of MQTT 5 (3.8.3.1). */
export interface GivenSubscription {
  /** A valid topic filter. */
  readonly filter: string;
  readonly qos: 0 | 1 | 2;
  readonly noLocal: boolean;
  readonly retainAsPublished: boolean;
  /** 0: retained messages are sent, 1: only if it is a new subscription, 2: not. */
  readonly retainHandling: 0 | 1 | 2;
  readonly identifier: number | undefined;
}

/**
 * Gives the session of a client that is away a subscription. Retained messages that the client would be sent at QoS 1 or 2 go into the
 * queue, and those of QoS 0 nowhere. `number` is asked for each message; `now` is in epoch milliseconds.
 */
export function subscribeAway(
  store: BrokerStore,
  session: Session,
  given: GivenSubscription,
  number: () => DeliveryNumber,
  now: number,
): void {
  const { filter, identifier, retainHandling } = given;
  const isNew = !session.subscriptions.has(filter);
  const { topic: _filter, ...options } = optionsOf(given);
  const record = identifier === undefined ? options : { ...options, subscriptionIdentifier: identifier };
  store.sessions.subscribe(session.id, filter, record);
  if (retainHandling === 2 || (retainHandling === 1 && !isNew)) return;
  for (const { topic, payload, qos: published, properties } of store.retained.matching([filter], now)) {
    const qos = Math.min(published, given.qos);
    if (qos === 0) continue;
    const grant = { qos: qos === 2 ? 2 : 1, retain: true } as const;
    const kept = { topic, payload, properties: takenIn(properties, now) };
    const message = store.queues.add(new Map([[session, grant]]), kept);
    if (message) store.queues.number(message, number());
  }
}

/** As aedes names them. */
export const optionsOf = ({ filter, qos, noLocal, retainAsPublished, retainHandling }: GivenSubscription) => ({
  topic: filter,
  qos,
  rh: retainHandling,
  rap: retainAsPublished,
  nl: noLocal,
});
