export interface QueueBounds {
  readonly maxMessages: number;
  readonly maxBytes: number;
}

export const QUEUE_BOUNDS: QueueBounds = { maxMessages: 100_000, maxBytes: 268_435_456 };

const BROKER_SHARE = 1 / 4;

/** The disk space used by the queues of one broker's bridges. */
export interface BrokerStorage {
  /** Whether these additional bytes are within the limits of the broker and of all brokers. */
  hasRoom(bytes: number): boolean;
  /** Counts a change, which may exceed the limits. */
  add(bytes: number): void;
}

/** The disk space of the queues of all bridges of this process (BRIDGE_STORAGE_MAX_MB). */
export class QueueStorage {
  readonly #maxBytes: number;
  readonly #brokers = new Map<string, BrokerStorage>();
  bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  of(brokerId: string): BrokerStorage {
    const known = this.#brokers.get(brokerId);
    if (known !== undefined) return known;
    let ofBroker = 0;
    const storage: BrokerStorage = {
      hasRoom: (bytes) =>
        bytes <= 0 || (this.bytes + bytes <= this.#maxBytes && ofBroker + bytes <= this.#maxBytes * BROKER_SHARE),
      add: (bytes) => {
        ofBroker += bytes;
        this.bytes += bytes;
      },
    };
    this.#brokers.set(brokerId, storage);
    return storage;
  }
}
