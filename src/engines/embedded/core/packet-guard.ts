import type { Client } from 'aedes';
import { parserOf } from './aedes-internals.ts';
import { type Connection, type DisconnectReason, MALFORMED_PACKET } from './connection.ts';
import type { Faults } from './faults.ts';
import { type IncomingPacket, refuseMalformedFields, wasReadBeyondEnd } from './mqtt-packet-internals.ts';

interface PacketGuardOptions {
  readonly faults: Faults;
  /** Called before aedes handles a packet. Returns the reason to close the connection, or `null`. */
  readonly before: (packet: IncomingPacket) => DisconnectReason | null;
}

/**
 * Guards aedes against the packets of one connection. A packet that is malformed, that `before` refuses, or that causes
 * an exception closes the connection, and nothing more is read of it. Call this function before anything else listens
 * to the client's parser. mqtt-packet returns `null`, -1 or `undefined` for truncated fields, which aedes would use.
 */
export function guardPackets(client: Client, connection: Connection, { faults, before }: PacketGuardOptions): void {
  const parser = parserOf(client);
  if (!parser) return;
  let isOver = false;
  const refuse = (reason: DisconnectReason) => {
    if (isOver) return;
    isOver = true;
    void connection.disconnect(reason);
  };
  const failed = (text: string, error: unknown, reason?: DisconnectReason) => {
    isOver = true;
    faults.ofConnection(connection, text, error, reason);
  };

  const [handle] = parser.listeners('packet');
  parser.removeAllListeners('packet');
  parser.on('packet', (packet) => {
    if (isOver || client.closed) return;
    if (wasReadBeyondEnd(parser) || (packet.messageId ?? 0) < 0) {
      refuse(MALFORMED_PACKET);
      return;
    }
    try {
      const reason = before(packet);
      if (reason !== null) {
        refuse(reason);
        return;
      }
      handle?.call(parser, packet);
    } catch (error) {
      failed(`a client's ${packet.cmd} could not be handled`, error);
    }
  });
  parser.removeAllListeners('error');
  parser.on('error', () => refuse(MALFORMED_PACKET));

  refuseMalformedFields(parser);
  const parse = parser.parse;
  parser.parse = (chunk) => {
    if (isOver) return 0;
    try {
      return parse.call(parser, chunk);
    } catch (error) {
      failed("a client's packet could not be read", error, MALFORMED_PACKET);
      return 0;
    }
  };
}
