/** Options of a subscription with their names in the journal (MQTT 5, 3.8.3.1). */
export interface SubscriptionRecord {
  readonly qos: 0 | 1 | 2;
  /** Retain Handling. */
  readonly rh?: number | undefined;
  /** Retain As Published. */
  readonly rap?: boolean | undefined;
  /** No Local. */
  readonly nl?: boolean | undefined;
  readonly subscriptionIdentifier?: number | undefined;
}

/** A subscription of SUBSCRIBE or of an administrator, with the names of the fields in the packet (MQTT 5, 3.8.3.1). */
export interface RequestedSubscription {
  readonly topic: string;
  readonly qos: 0 | 1 | 2;
  readonly rh?: number;
  readonly rap?: boolean;
  readonly nl?: boolean;
  readonly identifier: number | undefined;
}

/** A session, or a connection without one. */
export interface SubscriptionHolder {
  readonly subscriptions: ReadonlyMap<string, Subscription>;
}

export interface Subscription extends SubscriptionRecord {
  readonly holder: SubscriptionHolder;
  readonly clientId: string;
  /** The topic filter, with the share name of a shared subscription. */
  readonly topic: string;
}

/** The members of a shared subscription (MQTT 5, 4.8.2). */
export interface SharedGroup {
  /** `$share/{ShareName}/{filter}`. */
  readonly filter: string;
  /** In the order of their subscriptions. */
  readonly members: Subscription[];
  /** Position of the member whose turn it is. */
  next: number;
}

/** [MQTT-3.8.4-8] The QoS of a message for a subscription. */
export const lowerQos = (published: 0 | 1 | 2, granted: 0 | 1 | 2) => Math.min(published, granted) as 0 | 1 | 2;
