import type { Connection } from '../clients/connection.ts';
import type { ConnectHandler } from '../connecting/connect-handler.ts';
import type { SubscribeHandler } from '../delivery/subscribe-handler.ts';
import type { IncomingPacket, ReceivedAcknowledgement } from '../packets/incoming-packet.ts';
import { sequenceProblem } from '../packets/packet-sequence.ts';
import { acknowledge, respondToPing } from '../packets/responses.ts';
import type { PublishHandler } from '../publishing/publish-handler.ts';
import type { CoreParts } from './core-parts.ts';

/** Reason code of PUBCOMP (MQTT 5, 3.7.2.1). */
const PACKET_IDENTIFIER_NOT_FOUND = 0x92;
/** Reason codes from here on are failures. */
const FAILURE = 0x80;
/** Reason code of DISCONNECT: with Will Message (MQTT 5, 3.14.2.1). */
const WITH_WILL = 0x04;

interface PacketHandlerParts extends CoreParts {
  readonly connect: ConnectHandler;
  readonly publish: PublishHandler;
  readonly subscribe: SubscribeHandler;
}

/** Handles the packets of clients: those of publishing and subscribing by their handlers, acknowledgements itself. */
export class PacketHandler {
  readonly #parts: PacketHandlerParts;

  constructor(parts: PacketHandlerParts) {
    this.#parts = parts;
  }

  /** See `PacketHandlers.handle`. */
  readonly handle = (connection: Connection, packet: IncomingPacket, done: () => void): number | null => {
    const { connect, publish, subscribe } = this.#parts;
    const problem = sequenceProblem(connection, packet);
    if (problem !== null) return problem;
    switch (packet.cmd) {
      case 'publish':
        publish.take(connection, packet, done);
        return null;
      case 'puback':
      case 'pubcomp':
        this.#settle(connection, packet.messageId);
        return null;
      case 'pubrec':
        this.#received(connection, packet);
        return null;
      case 'pubrel':
        this.#release(connection, packet.messageId, done);
        return null;
      case 'subscribe':
        return subscribe.subscribe(connection, packet);
      case 'unsubscribe':
        return subscribe.unsubscribe(connection, packet);
      case 'pingreq':
        respondToPing(connection);
        return null;
      case 'connect':
        connect.take(connection, packet);
        return null;
      case 'disconnect':
        connection.isEndedByClient = true;
        connection.discardsWill = packet.reasonCode !== WITH_WILL;
        connection.close();
        return null;
    }
  };

  #settle({ session }: Connection, packetId: number): void {
    const entry = session?.entryByPacketId(packetId);
    // A loss of the removal means one duplicate, so nothing waits for the disk.
    if (session && entry) this.#parts.store.queues.settle(session, entry);
  }

  /** [MQTT-4.3.3-4] PUBREL, for a session when it is on disk that the client has the message. */
  #received(connection: Connection, { messageId, reasonCode }: ReceivedAcknowledgement): void {
    const { store } = this.#parts;
    const { session } = connection;
    if (reasonCode >= FAILURE) {
      this.#settle(connection, messageId);
      return;
    }
    const respond = () => acknowledge(connection, { cmd: 'pubrel', messageId });
    if (!session) {
      respond();
      return;
    }
    const entry = session.entryByPacketId(messageId);
    if (entry) store.queues.released(session, entry);
    this.#whenWritten(respond);
  }

  /** A packet id that stays on disk after PUBCOMP would discard the next publish with the same id. */
  #release(connection: Connection, messageId: number, done: () => void): void {
    const { store } = this.#parts;
    const isKnown = store.incoming.release(connection, messageId);
    const reasonCode = isKnown ? 0 : PACKET_IDENTIFIER_NOT_FOUND;
    const respond = () => {
      acknowledge(connection, { cmd: 'pubcomp', messageId, reasonCode });
      done();
    };
    if (connection.isClean) respond();
    else this.#whenWritten(respond);
  }

  #whenWritten(run: () => void): void {
    // A broken journal shuts the broker down.
    this.#parts.store.written().then(run, () => {});
  }
}
