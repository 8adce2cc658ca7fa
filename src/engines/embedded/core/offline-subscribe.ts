import type { BrokerStore } from '../store/broker-store.ts';
import { withExpiry } from '../store/message-properties.ts';
import type { DeliveryNumber } from '../store/message-queues.ts';
import type { Session } from '../store/session.ts';
import type { SubscriptionOptions } from './aedes-internals.ts';

/** A subscription with the options of MQTT 5 (3.8.3.1). */
export interface RequestedSubscription {
  /** A valid topic filter. */
  readonly filter: string;
  readonly qos: 0 | 1 | 2;
  readonly noLocal: boolean;
  readonly retainAsPublished: boolean;
  /** 0: retained messages are sent; 1: only for a new subscription; 2: never. */
  readonly retainHandling: 0 | 1 | 2;
  readonly identifier: number | undefined;
}

/**
 * Adds a subscription to the session of a client that is offline. Retained messages of QoS 1 and 2 are queued; those of
 * QoS 0 are not sent. `number` is called for each message; `now` is in epoch milliseconds.
 */
export function subscribeOffline(
  store: BrokerStore,
  session: Session,
  requested: RequestedSubscription,
  number: () => DeliveryNumber,
  now: number,
): void {
  const { filter, identifier, retainHandling } = requested;
  const isNew = !session.subscriptions.has(filter);
  const { topic: _filter, ...options } = optionsOf(requested);
  const record = identifier === undefined ? options : { ...options, subscriptionIdentifier: identifier };
  store.sessions.subscribe(session.id, filter, record);
  if (retainHandling === 2 || (retainHandling === 1 && !isNew)) return;
  for (const { topic, payload, qos: published, properties } of store.retained.matching([filter], now)) {
    const qos = Math.min(published, requested.qos);
    if (qos === 0) continue;
    const grant = { qos: qos === 2 ? 2 : 1, retain: true } as const;
    const queued = { topic, payload, properties: withExpiry(properties, now) };
    const message = store.queues.add(new Map([[session, grant]]), queued);
    if (message) store.queues.number(message, number());
  }
}

export const optionsOf = ({
  filter,
  qos,
  noLocal,
  retainAsPublished,
  retainHandling,
}: RequestedSubscription): SubscriptionOptions => ({
  topic: filter,
  qos,
  rh: retainHandling,
  rap: retainAsPublished,
  nl: noLocal,
});
