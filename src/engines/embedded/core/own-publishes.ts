import type { BrokerStore } from '../store/broker-store.ts';
import type { MessageProperties } from '../store/message-properties.ts';
import type { Delivery, LiveMessage } from './delivery.ts';
import type { PublishTap } from './publish-tap.ts';

export interface OwnPublishesOptions {
  readonly store: BrokerStore;
  readonly delivery: Delivery;
  readonly tap: PublishTap;
}

export interface PublishOptions {
  readonly qos?: 0 | 1 | 2;
  readonly retain?: boolean;
  readonly properties?: MessageProperties | undefined;
}

/** What is published without a publisher whose reading could be slowed down or who is answered: the broker's own messages, and wills. */
export class OwnPublishes {
  readonly #options: OwnPublishesOptions;
  #pendingCommits = 0;

  constructor(options: OwnPublishesOptions) {
    this.#options = options;
  }

  /** For the broker itself; otherwise as `send`. Rejects when it could not be stored. */
  publish(
    topic: string,
    payload: Uint8Array | string,
    { qos = 0, retain = false, properties }: PublishOptions = {},
  ): Promise<void> {
    const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
    const live = { topic, payload: bytes, qos, retain, properties };
    return new Promise((resolve, reject) => {
      this.send(null, live, (error) => (error ? reject(error) : resolve()));
    });
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
    const { topic, retain } = live;
    const deliver = () => {
      delivery.deliver(publisherId, live, message, delivered);
      if (retain) store.retained.handedOn(topic);
    };
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
          if (retain) store.retained.handedOn(topic);
          done(error);
        },
      );
    }
    tapped?.tell();
  }
}
