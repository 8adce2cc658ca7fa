import type { Client } from 'aedes';
import { writeToStream } from 'mqtt-packet';
import type { BrokerStore } from '../store/broker-store.ts';
import { readNextAfterWrite } from './aedes-internals.ts';

/** Reason code of PUBCOMP (MQTT 5, 3.7.2.1). */
const PACKET_IDENTIFIER_NOT_FOUND = 0x92;

/**
 * What a PUBREL releases. aedes looks for the packet id first and deletes it later, so of two PUBRELs that overlap the second one would
 * find the id, too. Here the id is released at once, and committed when aedes deletes it.
 */
export class ReleaseIntake {
  readonly #store: BrokerStore;

  constructor(store: BrokerStore) {
    this.#store = store;
  }

  /**
   * Rejects where there is no such packet id, so that aedes answers PUBCOMP. MQTT 5 has a reason code for it, which aedes cannot send:
   * there PUBCOMP is sent from here, aedes goes on with the next packet, and the promise never settles.
   */
  take(client: Client, messageId: number): Promise<object> {
    if (this.#store.incoming.release(client, messageId)) return Promise.resolve({});
    if (client.version !== 5) return Promise.reject(new Error('no such packet'));
    // Behind the PUBCOMP of a PUBREL that came before and is being committed. A journal that cannot be written ends the broker.
    this.#store.commit().then(
      () => setImmediate(() => this.#answer(client, messageId)),
      () => {},
    );
    return new Promise(() => {});
  }

  #answer(client: Client, messageId: number): void {
    if (client.closed) return;
    const pubcomp = { cmd: 'pubcomp', messageId, reasonCode: PACKET_IDENTIFIER_NOT_FOUND } as const;
    // A socket, or a stream of a WebSocket.
    readNextAfterWrite(client, writeToStream(pubcomp, client.conn as never, { protocolVersion: 5 }));
  }

  /** An id left on disk after PUBCOMP would swallow the next publish that uses it. */
  async commit(client: Client): Promise<void> {
    if (client.clean === false) await this.#store.commit();
  }
}
