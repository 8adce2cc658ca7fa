import type { ConnectedClientDetail } from './inspect-data.ts';

/** One subscription of a client; what is absent the source does not know. */
export interface ClientSubscription {
  readonly topic: string;
  readonly qos?: number;
  readonly noLocal?: boolean;
  readonly retainAsPublished?: boolean;
}

/** The subscriptions with what the source tells of each in lists of the same order; null: it tells none. */
export function subscriptionsOf(detail: ConnectedClientDetail): ClientSubscription[] | null {
  const { subscriptions, subscriptionQos, subscriptionOptions } = detail;
  if (subscriptions === undefined) return null;
  return subscriptions.map((topic, index) => {
    const qos = subscriptionQos?.[index];
    return { topic, ...(qos === undefined ? {} : { qos }), ...subscriptionOptions?.[index] };
  });
}
