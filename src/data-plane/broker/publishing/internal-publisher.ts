import type { CoreParts } from '../core/core-parts.ts';
import type { Delivery } from '../delivery/delivery.ts';
import type { LiveMessage } from '../delivery/sent-messages.ts';

/** Publishes messages that no connection sends: the broker's own messages, and wills. Access control does not apply. */
export class InternalPublisher {
  readonly #parts: CoreParts;
  readonly #delivery: Delivery;
  #pendingCommits = 0;

  constructor(parts: CoreParts, delivery: Delivery) {
    this.#parts = parts;
    this.#delivery = delivery;
  }

  publish(
    topic: string,
    payload: Uint8Array | string,
    { qos = 0, retain = false, properties }: Partial<LiveMessage> = {},
  ): Promise<void> {
    const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
    const live = { topic, payload: bytes, qos, retain, properties };
    return new Promise((resolve, reject) => {
      this.send(null, live, (error) => (error ? reject(error) : resolve()));
    });
  }

  /**
   * Publishes a message. `done` is called, maybe immediately, when the sockets have it, it is on disk if necessary, and
   * no stream holds it; with an error if it could not be stored. `publisherId` is `null` for the broker itself.
   */
  send(publisherId: string | null, live: LiveMessage, done: (error: Error | null) => void): void {
    const { store, tap } = this.#parts;
    const accepted = store.accept(publisherId === null ? null : { id: publisherId }, live);
    const tapped = tap.take(live, false);
    const delivered = () => {
      if (tapped) tapped.whenFree(() => done(null));
      else done(null);
    };
    const deliver = () => this.#delivery.deliver(publisherId, live, accepted, delivered);
    // QoS 1 and 2 keep their order: a message that needs no commit waits for earlier ones that do.
    if (live.qos === 0 || (!accepted.isDurable && this.#pendingCommits === 0)) deliver();
    else {
      this.#pendingCommits += 1;
      store.written().then(
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
    tapped?.notify();
  }
}
