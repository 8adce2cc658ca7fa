import type { Client, PublishPacket } from 'aedes';
import { consume } from '../store/consumed-publish.ts';
import type { IncomingStore } from '../store/incoming-store.ts';
import type { Connection } from './connection.ts';

export type ServeControl = (client: Client, topic: string, payload: Uint8Array) => Promise<void>;

interface ControlHandlerOptions {
  readonly incoming: IncomingStore;
  readonly serve: ServeControl;
  readonly onProblem: (problem: string, error: Error) => void;
}

/** Maximum number of unfinished control requests of one client. Its next packet then waits. */
const MAX_PENDING = 64;

export type HandleControl = (client: Client, connection: Connection, packet: PublishPacket, done: () => void) => void;

/** Returns the handler of publishes to `$CONTROL/`: each is served once and never delivered. */
export const controlHandler =
  ({ incoming, serve, onProblem }: ControlHandlerOptions): HandleControl =>
  (client, connection, packet, done) => {
    const { topic, qos, messageId } = packet;
    // A repeated publish: the command has run, and aedes acknowledges the stored packet id.
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
    if (connection.pendingControl < MAX_PENDING) done();
    else void served.then(() => done());
  };
