import { Broadcast, type BroadcastEvent, type SubscriberOptions } from '../live/broadcast.ts';
import type { LiveSource } from '../live/live-source.ts';
import type { LinkStatus } from '../mqtt/broker-session.ts';
import type { BrokerRecord } from './broker-directory.ts';

/** A broker as a dashboard follows it; `broker` is null once it is removed. */
export interface BrokerStatusChange {
  readonly brokerId: string;
  readonly broker: BrokerRecord | null;
  readonly connection: LinkStatus;
}

export type BrokerStatusEvent = BroadcastEvent<readonly BrokerStatusChange[], BrokerStatusChange>;

interface Followed {
  readonly projectId: string;
  /** Null: all brokers of the project. */
  readonly only: ReadonlySet<string> | null;
  readonly broadcast: Broadcast<readonly BrokerStatusChange[], BrokerStatusChange>;
}

/**
 * The state of projects' brokers for those who follow it. Whoever sees only some of the brokers follows these as a whole of
 * their own: numbers that leave some out would tell that there are others.
 *
 * Kept are those that somebody watches, and those that somebody did until another one is made.
 */
export class BrokerStatusFeeds {
  readonly #statusOf: (projectId: string) => readonly BrokerStatusChange[];
  readonly #followed = new Map<string, Followed>();

  constructor(statusOf: (projectId: string) => readonly BrokerStatusChange[]) {
    this.#statusOf = statusOf;
  }

  /** The brokers now, then each change of one. */
  watch(
    projectId: string,
    only: ReadonlySet<string> | null,
    options: SubscriberOptions,
  ): LiveSource<BrokerStatusEvent> {
    const key = JSON.stringify([projectId, ...(only === null ? [] : [...only].sort())]);
    let followed = this.#followed.get(key);
    if (followed === undefined) {
      for (const [other, { broadcast }] of this.#followed) {
        if (broadcast.subscriberCount === 0) this.#followed.delete(other);
      }
      const snapshot = () => this.#statusOf(projectId).filter(({ brokerId }) => only?.has(brokerId) ?? true);
      followed = {
        projectId,
        only,
        broadcast: new Broadcast<readonly BrokerStatusChange[], BrokerStatusChange>(snapshot),
      };
      this.#followed.set(key, followed);
    }
    return followed.broadcast.subscribe(options);
  }

  tell(projectId: string, change: BrokerStatusChange): void {
    for (const followed of this.#followed.values()) {
      const concerns = followed.projectId === projectId && (followed.only?.has(change.brokerId) ?? true);
      if (concerns) followed.broadcast.publish(change);
    }
  }

  close(): void {
    for (const { broadcast } of this.#followed.values()) broadcast.close();
  }
}
