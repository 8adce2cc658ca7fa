import { Connection } from '../clients/connection.ts';
import type { CoreParts } from '../core/core-parts.ts';
import { acknowledge } from '../packets/responses.ts';
import type { Queued } from '../store/message-queues.ts';
import { isSendable, type QueueEntry, type Session } from '../store/session.ts';
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
    const { window } = connection.flow;
    if (connection.isClosing) return;
    if (connection.flow.isDraining) {
      // The queue was read beyond this message before it might be sent.
      if (entry.position <= connection.flow.readPosition) connection.flow.unsent = null;
      return;
    }
    if (window && !window.isOpen) {
      connection.flow.isDraining = true;
      return;
    }
    const { qos, message } = entry;
    const admittance = this.#sender.budget.admit(connection, qos, message.payload.length);
    if (admittance === 'CLOSE') connection.destroy();
    if (admittance === 'SEND') this.#sender.sendEntry(connection, session, entry);
  }

  /** Sends what waits in the queue. Called when the client has got CONNACK, and when its window or socket has room. */
  drain(connection: Connection): void {
    const { session, flow } = connection;
    const { window } = flow;
    if (!connection.flow.isDraining || !connection.isReady || connection.flow.isDrainScheduled || connection.isClosing)
      return;
    if (!session) {
      connection.flow.isDraining = false;
      return;
    }
    const now = Date.now();
    for (let count = 0; window === null || window.isOpen; count += 1) {
      if (!connection.hasRoom) {
        this.#schedule(connection, (goOn) => connection.waitForDrain(goOn));
        return;
      }
      if (count === SLICE) {
        this.#schedule(connection, (goOn) => this.#parts.time.nextIteration(goOn));
        return;
      }
      if (connection.flow.unsent === null) connection.flow.readPosition = 0;
      connection.flow.unsent ??= session.queue.values();
      const { done, value: entry } = connection.flow.unsent.next();
      if (done) {
        connection.flow.unsent = null;
        connection.flow.isDraining = false;
        return;
      }
      connection.flow.readPosition = entry.position;
      this.#sendEntry(connection, session, entry, now);
    }
  }

  #sendEntry(connection: Connection, session: Session, entry: QueueEntry, now: number): void {
    const { packetId, message, released } = entry;
    if (entry.isSent) return;
    if (released && packetId !== undefined) {
      entry.isSent = true;
      connection.flow.window?.inFlight.add(packetId);
      acknowledge(connection, { cmd: 'pubrel', messageId: packetId });
    } else if (packetId === undefined && !message.isDelivered) return;
    else if (isSendable(entry, now)) this.#sender.sendEntry(connection, session, entry);
    else this.#parts.store.queues.settle(session, entry);
  }

  #schedule(connection: Connection, start: (goOn: () => void) => void): void {
    connection.flow.isDrainScheduled = true;
    start(() => {
      connection.flow.isDrainScheduled = false;
      this.#parts.faults.run(connection, 'queued messages could not be sent to a client', () => this.drain(connection));
    });
  }
}
