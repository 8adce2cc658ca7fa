import type { Client, PublishPacket } from 'aedes';
import { consume } from '../store/consumed-publish.ts';
import type { IncomingStore } from '../store/incoming-store.ts';
import type { Connection } from './connection.ts';

/** Serves a control request; resolves when it was answered. */
export type ServeControl = (client: Client, topic: string, payload: Uint8Array) => Promise<void>;

export interface ControlIntakeOptions {
  readonly incoming: IncomingStore;
  readonly serve: ServeControl;
  readonly onProblem: (problem: string, error: Error) => void;
}

/** Control requests of one client that may be under way before its next packet has to wait. */
const MAX_PENDING = 64;

/** What happens to a publish on `$CONTROL`: it is served once, and never delivered. */
export class ControlIntake {
  readonly #options: ControlIntakeOptions;

  constructor(options: ControlIntakeOptions) {
    this.#options = options;
  }

  /** `done` lets aedes acknowledge the packet and read the client's next one. */
  take(client: Client, connection: Connection, packet: PublishPacket, done: () => void): void {
    const { incoming, serve, onProblem } = this.#options;
    const { topic, qos, messageId } = packet;
    // Sent again before it was acknowledged: the command ran, aedes answers from the stored packet id.
    if (qos === 2 && messageId !== undefined && incoming.has(client.id, messageId)) {
      done();
      return;
    }
    const payload = Buffer.from(packet.payload);
    consume(packet);
    connection.pendingControl += 1;
    const served = serve(client, topic, payload)
      .catch((error: Error) => onProblem(`a request on ${topic} failed`, error))
      .finally(() => {
        connection.pendingControl -= 1;
      });
    if (connection.pendingControl < MAX_PENDING) {
      done();
      return;
    }
    void served.then(() => done());
  }
}
