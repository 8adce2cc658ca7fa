import type { BrokerClient } from '../clients/broker-client.ts';
import { Connection } from '../clients/connection.ts';
import { waitForDrain } from '../core/aedes-internals.ts';
import type { CoreParts } from '../core/core-parts.ts';
import { writePubrel } from '../packets/responses.ts';
import { isSendable } from '../store/aedes-packets.ts';
import type { Queued } from '../store/message-queues.ts';
import type { QueueEntry, Session } from '../store/session.ts';
import type { ClientSender } from './client-sender.ts';

/** Maximum number of messages of one queue that are looked at before other clients are served. */
const SLICE = 200;

/** Sends the queues of sessions to their clients: in order, within the Receive Maximum, and as the sockets take it. */
export class SessionSender {
  readonly #parts: CoreParts;
  readonly #sender: ClientSender;

  constructor(parts: CoreParts, sender: ClientSender) {
    this.#parts = parts;
    this.#sender = sender;
  }

  /** Sends a message that may be sent from now on. It waits if earlier ones wait, or the client is offline. */
  deliver({ session, entry }: Queued): void {
    const { owner: connection } = session;
    if (!(connection instanceof Connection) || !connection.isReady) return;
    const { client, window } = connection;
    if (!client || client.closed) return;
    if (connection.isDraining) {
      // The queue was read beyond this message before it might be sent.
      if (entry.position <= connection.readPosition) connection.unsent = null;
      return;
    }
    if (window && !window.isOpen) {
      connection.isDraining = true;
      return;
    }
    const { qos, message } = entry;
    const admittance = this.#sender.budget.admit(connection, qos, message.payload.length);
    if (admittance === 'CLOSE') connection.destroy();
    if (admittance === 'SEND') this.#sender.sendEntry(client, connection, session, entry);
  }

  /** Sends what waits in the queue. Called when the client has got CONNACK, and when its window or socket has room. */
  drain(client: BrokerClient, connection: Connection): void {
    const { session, window } = connection;
    if (!connection.isDraining || !connection.isReady || connection.isDrainScheduled || client.closed) return;
    if (!session) {
      connection.isDraining = false;
      return;
    }
    const now = Date.now();
    for (let count = 0; window === null || window.isOpen; count += 1) {
      if (!connection.hasRoom) {
        this.#schedule(client, connection, (goOn) => waitForDrain(client, goOn));
        return;
      }
      if (count === SLICE) {
        this.#schedule(client, connection, (goOn) => this.#parts.time.nextIteration(goOn));
        return;
      }
      if (connection.unsent === null) connection.readPosition = 0;
      connection.unsent ??= session.queue.values();
      const { done, value: entry } = connection.unsent.next();
      if (done) {
        connection.unsent = null;
        connection.isDraining = false;
        return;
      }
      connection.readPosition = entry.position;
      this.#sendEntry(client, connection, session, entry, now);
    }
  }

  #sendEntry(client: BrokerClient, connection: Connection, session: Session, entry: QueueEntry, now: number): void {
    const { packetId, message, released } = entry;
    if (entry.isSent) return;
    if (released && packetId !== undefined) {
      entry.isSent = true;
      connection.window?.inFlight.add(packetId);
      writePubrel(client, packetId);
    } else if (packetId === undefined && !message.isDelivered) return;
    else if (isSendable(entry, now)) this.#sender.sendEntry(client, connection, session, entry);
    else this.#parts.store.queues.settle(session, entry);
  }

  #schedule(client: BrokerClient, connection: Connection, start: (goOn: () => void) => void): void {
    connection.isDrainScheduled = true;
    start(() => {
      connection.isDrainScheduled = false;
      this.#parts.faults.run(connection, 'queued messages could not be sent to a client', () =>
        this.drain(client, connection),
      );
    });
  }
}
