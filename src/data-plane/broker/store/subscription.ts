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
  /** Whether a connection has it. */
  readonly isOnline: boolean;
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
  /** Apart from each other: there may be thousands of sessions whose clients never return. */
  readonly online: MemberRing;
  readonly offline: MemberRing;
}

/** Members that take turns. */
export class MemberRing {
  /** In the order in which they were added. */
  readonly members: Subscription[] = [];
  /** Position of the member whose turn it is. */
  next = 0;

  remove(member: Subscription): void {
    const at = this.members.indexOf(member);
    if (at === -1) return;
    this.members.splice(at, 1);
    // The turn of the members behind it stays.
    if (at < this.next) this.next -= 1;
  }
}

/** [MQTT-3.8.4-8] The QoS of a message for a subscription. */
export const lowerQos = (published: 0 | 1 | 2, granted: 0 | 1 | 2) => Math.min(published, granted) as 0 | 1 | 2;
