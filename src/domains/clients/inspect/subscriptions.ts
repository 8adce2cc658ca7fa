import type { ClientSubscriptionOptions, ConnectedClientDetail } from './inspect-data.ts';

/** One subscription of a client. Absent fields are unknown. */
export interface ClientSubscription extends ClientSubscriptionOptions {
  readonly topic: string;
  readonly qos?: number;
}

/** The subscriptions of a client with QoS and options; `null` if they are unknown. */
export function subscriptionsOf(detail: ConnectedClientDetail): ClientSubscription[] | null {
  const { subscriptions, subscriptionQos, subscriptionOptions } = detail;
  if (subscriptions === undefined) return null;
  return subscriptions.map((topic, index) => {
    const qos = subscriptionQos?.[index];
    return { topic, ...(qos === undefined ? {} : { qos }), ...subscriptionOptions?.[index] };
  });
}
