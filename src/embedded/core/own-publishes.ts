import type { BrokerStore } from '../store/broker-store.ts';
import type { Delivery, LiveMessage } from './delivery.ts';
import type { PublishTap } from './publish-tap.ts';

export interface OwnPublishesOptions {
  readonly store: BrokerStore;
  readonly delivery: Delivery;
  readonly tap: PublishTap;
}

/** What is published without a publisher whose reading could be slowed down or who is answered: the broker's own messages, and wills. */
export class OwnPublishes {
  readonly #options: OwnPublishesOptions;
  #pendingCommits = 0;

  constructor(options: OwnPublishesOptions) {
    this.#options = options;
  }

  /**
   * Without access control. `done` is called when it was written to sockets, is durable if it must be, and nobody holds it, maybe
   * before this returns; with an error when it could not be stored. `publisherId` null: the broker itself.
   */
  send(publisherId: string | null, live: LiveMessage, done: (error: Error | null) => void): void {
    const { store, delivery, tap } = this.#options;
    const { message, isDurable } = store.accept(publisherId === null ? null : { id: publisherId }, live);
    const tapped = tap.take(live, false);
    const delivered = () => {
      if (tapped) tapped.whenFree(() => done(null));
      else done(null);
    };
    const deliver = () => delivery.deliver(publisherId, live, message, delivered);
    // Messages of QoS 1 and 2 keep their order, so one that needs no commit waits for those before it that do.
    if (live.qos === 0 || (!isDurable && this.#pendingCommits === 0)) deliver();
    else {
      this.#pendingCommits += 1;
      store.commit().then(
        () => {
          this.#pendingCommits -= 1;
          deliver();
        },
        (error: Error) => {
          this.#pendingCommits -= 1;
          done(error);
        },
      );
    }
    tapped?.tell();
  }
}
