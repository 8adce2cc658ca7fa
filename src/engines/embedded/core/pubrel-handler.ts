import type { Client } from 'aedes';
import { writeToStream } from 'mqtt-packet';
import type { BrokerStore } from '../store/broker-store.ts';
import { readNextAfterWrite } from './aedes-internals.ts';

/** Reason code of PUBCOMP (MQTT 5, 3.7.2.1). */
const PACKET_IDENTIFIER_NOT_FOUND = 0x92;

/** Releases packet ids on PUBREL immediately: aedes deletes them later, and a second PUBREL would find them. */
export class PubrelHandler {
  readonly #store: BrokerStore;

  constructor(store: BrokerStore) {
    this.#store = store;
  }

  /** Rejects if the packet id does not exist: aedes sends PUBCOMP. For MQTT 5 this method does, and never settles. */
  take(client: Client, messageId: number): Promise<object> {
    if (this.#store.incoming.release(client, messageId)) return Promise.resolve({});
    if (client.version !== 5) return Promise.reject(new Error('no such packet'));
    // The PUBCOMP of a PUBREL that is being committed is sent first. A broken journal shuts the broker down.
    this.#store.commit().then(
      () => setImmediate(() => this.#respond(client, messageId)),
      () => {},
    );
    return new Promise(() => {});
  }

  #respond(client: Client, messageId: number): void {
    if (client.closed) return;
    const pubcomp = { cmd: 'pubcomp', messageId, reasonCode: PACKET_IDENTIFIER_NOT_FOUND } as const;
    // The stream is a socket, or a Duplex of a WebSocket.
    readNextAfterWrite(client, writeToStream(pubcomp, client.conn as never, { protocolVersion: 5 }));
  }

  /** A packet id that stays on disk after PUBCOMP would discard the next publish with the same id. */
  async commit(client: Client): Promise<void> {
    if (client.clean === false) await this.#store.commit();
  }
}
